import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import { type Node, RootConstruct } from 'constructs';
import type { StackTemplate } from './cost/bill.ts';
import { recordedPeakRates } from './settings/peak-rates.ts';
import { peakRatesOf, readSettings, recordedSettings } from './settings.ts';
import { buildStacks } from './stacks.ts';

/**
 * Returns the templates of the stacks that this context selects, without code, keyed by stack name. Leaves no files on
 * disk. Collects no data about the constructs, because collecting them would take a fifth of the time.
 *
 * @param context as in `cdk deploy -c`, in addition to the context of cdk.json
 * @throws Error for an invalid setting
 */
export function synthesizedStacks(context: Readonly<Record<string, unknown>>): ReadonlyMap<string, StackTemplate> {
  const flags = flagsOfClone();
  const outdir = mkdtempSync(join(tmpdir(), 'payonce-synth-'));
  try {
    const app = new App({
      outdir,
      treeMetadata: false,
      stackTraces: false,
      analyticsReporting: false,
      context: { ...flags, 'aws:cdk:bundling-stacks': [], ...context },
    });
    buildStacks(app);
    return new Map(app.synth().stacks.map(({ stackName, template }) => [stackName, template as StackTemplate]));
  } finally {
    rmSync(outdir, { recursive: true, force: true });
  }
}

/**
 * Returns the settings of a deployment with this context, as recorded in the activity log.
 * @throws Error for an invalid setting
 */
export function settingsOfClone(context: Readonly<Record<string, unknown>>): Record<string, string> {
  return recordedSettings(readSettings(nodeOfClone(context)));
}

/**
 * Returns the peak rates of a deployment with this context, as {@link settingsOfClone}; undefined if they are not set.
 * Other settings may be missing.
 * @throws Error for an invalid setting
 */
export function peakRatesOfClone(context: Readonly<Record<string, unknown>>): string | undefined {
  const rates = peakRatesOf(nodeOfClone(context));
  return rates === undefined ? undefined : recordedPeakRates(rates);
}

function nodeOfClone(context: Readonly<Record<string, unknown>>): Node {
  const { node } = new RootConstruct();
  for (const [name, value] of Object.entries({ ...flagsOfClone(), ...context })) node.setContext(name, value);
  return node;
}

function flagsOfClone(): Record<string, unknown> {
  const text = readFileSync(new URL('../cdk.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { context: Record<string, unknown> }).context;
}
