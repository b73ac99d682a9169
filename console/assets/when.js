/* Times as people write them, in UTC: tools/when.py. What they look like comes from there (`rule.spans`). */

const DAY = 86400;
const secondsOf = (year, month, day) => {
  const date = new Date(Date.UTC(2000, month, day));
  date.setUTCFullYear(year, month, day); // years below 100 as they are
  const isThere = year >= 1 && year <= 9999 && date.getUTCFullYear() === year && date.getUTCMonth() === month && date.getUTCDate() === day;
  return isThere ? date.getTime() / 1000 : NaN;
};
const monthOf = (year, month) => [secondsOf(year, month, 1), secondsOf(month === 11 ? year + 1 : year, (month + 1) % 12, 1)];
const midnight = (now) => Math.floor(now / DAY) * DAY;
const weekday = (now) => (Math.floor(now / DAY) + 3) % 7; // Monday is 0

const clockOf = (rule) => {
  const pattern = new RegExp(rule.spans, 'gu');
  const { months, days, numbers, units } = rule;
  const ago = (text, now) => {
    const [, count, unit] = text.match(/^(.+) (\w+?)s? ago$/);
    const number = /^\d+$/.test(count) ? Number(count) : numbers[count];
    if (unit === 'month' || unit === 'year') return monthsBack(now, number * (unit === 'year' ? 12 : 1));
    const then = now - units[unit] * number;
    if (unit === 'week') return [midnight(then) - 3 * DAY, midnight(then) + 4 * DAY];
    if (unit === 'day') return [midnight(then), midnight(then) + DAY];
    return [then - units[unit] / 2, then + units[unit] / 2];
  };
  const monthsBack = (now, back) => {
    const date = new Date(now * 1000);
    const month = date.getUTCFullYear() * 12 + date.getUTCMonth() - back;
    return monthOf(Math.floor(month / 12), ((month % 12) + 12) % 12);
  };
  const last = (text, now) => {
    const at = text.indexOf(' ');
    const [which, unit] = [text.slice(0, at), text.slice(at + 1)];
    const today = midnight(now), less = which === 'this' ? 0 : 1;
    if (unit in days) {
      const back = (weekday(now) - days[unit] + 7) % 7 || 7 * less;
      return [today - back * DAY, today - (back - 1) * DAY];
    }
    if (unit === 'week') {
      const monday = today - weekday(now) * DAY - 7 * less * DAY;
      return [monday, monday + 7 * DAY];
    }
    if (unit === 'month') return monthsBack(now, less);
    const year = new Date(now * 1000).getUTCFullYear() - less;
    return [secondsOf(year, 0, 1), secondsOf(year + 1, 0, 1)];
  };
  const day = (text, now) => {
    const back = text === 'today' ? 0 : text.includes('before') ? 2 : 1;
    return [midnight(now) - back * DAY, midnight(now) - (back - 1) * DAY];
  };
  const monthIn = (text) => months[text.match(/[a-z]+/g).find((word) => word in months)] - 1;
  const dated = (text, now) => {
    const told = text.match(/\d+/g).map(Number);
    const year = told.find((number) => number > 31), date = told.find((number) => number <= 31) || 0;
    const today = new Date(now * 1000).getUTCFullYear();
    let first = secondsOf(year || today, monthIn(text), date);
    if (year === undefined && first > now) first = secondsOf(today - 1, monthIn(text), date);
    return [first, first + DAY];
  };
  const inMonth = (text) => monthOf(Number(text.match(/\d{4}/)[0]), monthIn(text));
  const iso = (text) => {
    const at = text.match(/^(\d{4})-(\d\d)-(\d\d)(?:[t ](\d\d):(\d\d)(?::(\d\d)(\.\d+)?)?(?:z|([+-])(\d\d):?(\d\d))?)?$/);
    const [year, month, date, hour, minute, second] = at.slice(1, 7).map((each) => Number(each || 0));
    const aside = (at[8] === '-' ? -1 : 1) * (Number(at[9] || 0) * 60 + Number(at[10] || 0)) * 60;
    if (hour > 23 || minute > 59 || second > 59) return [NaN, NaN];
    const first = secondsOf(year, month - 1, date) + hour * 3600 + minute * 60 + second + Number(at[7] || 0) - aside;
    return [first, first + (text.length === 10 ? DAY : 0.001)];
  };
  const finders = { iso, ago, last, day, dmy: dated, mdy: dated, my: inMonth };
  /* The times that a text names, seen from `now`. */
  return (text, now) => [...text.matchAll(pattern)].map((found) => {
    const [kind] = Object.entries(found.groups).find(([, part]) => part !== undefined);
    const said = blanksApart(found[0].toLowerCase()).join(' ');
    const [first, end] = NO_ASCII.test(said) ? [NaN, NaN] : finders[kind](said, now);
    return { text: found[0], first, last: end - 0.001 };
  }).filter((span) => Number.isFinite(span.first) && Number.isFinite(span.last));
};
