/* What is under the pointer, said beside it. Everything from a conversation goes in as text, never as markup. */

const REST = 150; // milliseconds on one thing before the page asks what it says
const ASIDE = 14, EDGE = 8; // pixels from the pointer, and from the edges of the window

/* The beginning of a text on one line, in so many letters. */
const opening = (text, most = 90) => {
  const letters = [...text.slice(0, most * 8).replace(/\s+/g, ' ').trim()];
  return letters.length > most ? `${letters.slice(0, most - 1).join('').trimEnd()}…` : letters.join('');
};

/* As much of a text as `fits`, with a mark where it was cut; nothing where that would be no word at all. */
const fitted = (text, fits) => {
  if (fits(text)) return text;
  const letters = [...text];
  const cut = (length) => `${letters.slice(0, length).join('').trimEnd()}…`;
  let low = 0, high = letters.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(cut(middle))) low = middle; else high = middle - 1;
  }
  return low < 2 ? '' : cut(low);
};

/* Where a box goes beside the pointer: within the window, and not under the pointer. */
const besidePointer = ({ clientX: x, clientY: y }, { width, height }, [wide, high]) => ({
  left: Math.max(Math.min(x + ASIDE, wide - width - EDGE), EDGE),
  top: y + ASIDE + height + EDGE <= high ? y + ASIDE : Math.max(y - ASIDE - height, EDGE),
});

class Hover {
  constructor(place) {
    Object.assign(this, { place, about: '', now: null, last: null });
    document.addEventListener('keydown', (event) => { if (event.key === 'Escape') this.hide(); });
    document.addEventListener('scroll', () => this.hide(), true);
  }

  /* What is said of a thing, named `about`; `more` is asked for another line when the pointer rests on it. */
  say(event, about, lines, more = null) {
    this.last = event;
    if (about !== this.about) {
      const now = this.now = {};
      this.about = about;
      this.place.replaceChildren(...lines.map((line) => make('span', {}, line)));
      this.place.hidden = false;
      if (more) this.add(now, more);
    }
    this.move(event);
  }

  async add(now, more) {
    await new Promise((done) => { setTimeout(done, REST); });
    const line = this.now === now ? await more().catch(() => '') : '';
    if (this.now !== now || !line) return;
    this.place.append(make('span', {}, line));
    this.move(this.last);
  }

  move(event) {
    const { left, top } = besidePointer(event, this.place.getBoundingClientRect(), [document.documentElement.clientWidth, innerHeight]);
    this.place.style.left = `${left}px`;
    this.place.style.top = `${top}px`;
  }

  hide() {
    Object.assign(this, { about: '', now: null });
    this.place.hidden = true;
  }
}
