const LINES = [4, 5] as const;
/** Possible distances between grid lines, as multiples of the largest power of ten up to the largest value. */
const STEPS = [0.1, 0.2, 0.5, 1, 2, 5] as const;
const MAX_DAYS_SHOWN = 7;

/** For example, returns 0, 500, 1000, 1500, 2000. */
export function scaleOf(largest: number): readonly number[] {
  const power = 10 ** Math.floor(Math.log10(Math.max(largest, 1)));
  const [lowest] = STEPS.flatMap((factor) => LINES.map((lines) => ({ lines, step: factor * power })))
    .filter(({ lines, step }) => step >= 1 && lines * step >= largest)
    .toSorted((a, b) => a.lines * a.step - b.lines * b.step);
  const { lines, step } = lowest ?? { lines: 1, step: largest };
  return Array.from({ length: lines + 1 }, (_line, index) => index * step);
}

export function daysShown(days: readonly string[]): readonly string[] {
  const every = Math.ceil(days.length / MAX_DAYS_SHOWN);
  return days.filter((_day, index) => (days.length - 1 - index) % every === 0);
}
