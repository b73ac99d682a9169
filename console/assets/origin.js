/* Where the page has its data from: the program that serves it, the host's dashboard around it, or the file itself. */

const PART = 100; // messages of one piece, as pieces.py cuts them

const embedded = (name) => {
  const found = document.getElementById(name);
  return found ? JSON.parse(found.textContent) : null;
};

/* A program that answers questions; `ask(name, parameters)` gives a promise of an answer. */
const asking = (ask, live) => ({
  live,
  modes: [['auto', 'as the agent searches'], ['exact', 'exact'], ['regex', 'pattern'], ['fuzzy', 'fuzzy']],
  sessions: () => ask('sessions', {}),
  chart: (session, known) => ask('chart', { session, ...known }),
  node: (session, uid) => ask('node', { session, uid }),
  messages: ({ session, messages: { uid } }, first, last) => ask('messages', { session, first: uid[first], last: uid[last] }),
  search: (session, query, mode) => ask('search', { session, query, mode }),
});

const fromServer = () => asking(async (name, parameters) => {
  const answer = await fetch(`${name}?${new URLSearchParams(parameters)}`, { cache: 'no-store' });
  const said = await answer.json();
  if (!answer.ok) throw new Error(said.error || answer.statusText);
  return said;
}, true);

/* The page in a frame without an origin of its own: who made the frame asks for it. */
const fromFrame = () => {
  const waiting = new Map();
  let last = 0;
  window.addEventListener('message', (event) => {
    if (event.source !== window.parent || !event.data || !waiting.has(event.data.id)) return;
    const [done, failed] = waiting.get(event.data.id);
    waiting.delete(event.data.id);
    if (event.data.scheme) document.documentElement.dataset.scheme = event.data.scheme;
    if (event.data.error) failed(new Error(event.data.error)); else done(event.data.answer);
  });
  return asking((name, parameters) => new Promise((done, failed) => {
    waiting.set(last += 1, [done, failed]);
    window.parent.postMessage({ lcm: name, id: last, parameters }, '*');
  }), true);
};

/* A file: everything is in it, in parts that are read when they are needed. */
const fromFile = (chart) => {
  const parts = new Map();
  const part = (name) => {
    if (!parts.has(name)) parts.set(name, embedded(name) || []);
    return parts.get(name);
  };
  const message = (index) => part(`messages-${Math.floor(index / PART)}`)[index % PART];
  const nodes = () => new Map(part('nodes').map((each) => [each.uid, each]));
  let index = null;
  return {
    live: false,
    modes: [['words', 'words'], ['exact', 'exact']],
    sessions: async () => ({ sessions: [{ session: chart.session }], chosen: chart.session }),
    chart: async () => chart,
    node: async (_, uid) => nodes().get(uid),
    messages: async (_, first, last) => {
      const found = [];
      for (let n = first; n <= Math.min(last, first + PART - 1, chart.count - 1); n += 1) found.push(message(n));
      return { messages: found };
    },
    search: async (_, query, mode) => {
      index = index || indexed(chart, message, nodes(), embedded('found'), embedded('rule'));
      return index(query, mode);
    },
  };
};
