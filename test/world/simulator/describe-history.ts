import type { DescribeTools } from './acts/act.ts';
import { actNamed } from './acts/all-acts.ts';
import type { History, Step } from './contract.ts';

const DAY_MS = 86_400_000;

/** Times are relative to the beginning of the history. */
export function describeHistory({ seed, profile, steps, muted }: History): string {
  const tools = describeToolsOf(steps);
  const lines = steps.map((step) => `  ${timeOf(step.atMs)}: ${actNamed(step.act).describe(step, tools)}`);
  const faults = muted.length === 0 ? [] : [`  (${muted.length} faults suppressed)`];
  return [`seed ${seed} of profile ${profile}, ${steps.length} steps:`, ...lines, ...faults].join('\n');
}

/** With milliseconds unless they are 0. The first day is day 1. */
function timeOf(atMs: number): string {
  const time = new Date(atMs % DAY_MS)
    .toISOString()
    .slice(11, 23)
    .replace(/\.000$/, '');
  return `day ${Math.floor(atMs / DAY_MS) + 1}, ${time}`;
}

function describeToolsOf(steps: readonly Step[]): DescribeTools {
  const byId = new Map<unknown, Step>(steps.map((step) => [step.id, step]));
  const counts = new Map<string, number>();
  const names = new Map<unknown, string>();
  for (const { id, act } of steps) {
    const { makes } = actNamed(act);
    const kind = makes ?? act.replaceAll('_', ' ');
    const count = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, count);
    names.set(id, makes === undefined ? `the ${ordinal(count)}${kind}` : `${kind} ${count}`);
  }
  const currencyOf = (id: unknown): string => {
    const { of, currency }: Partial<Step> = byId.get(id) ?? {};
    if (of !== undefined) return currencyOf(of);
    return typeof currency === 'string' ? currency : 'EUR';
  };
  return {
    name: (id) => names.get(id) ?? 'an object that was not created',
    money: (amountMinor, id) => `${(Number(amountMinor) / 100).toFixed(2)} ${currencyOf(id)}`,
  };
}

function ordinal(count: number): string {
  return count === 1 ? 'first ' : `${count}. `;
}
