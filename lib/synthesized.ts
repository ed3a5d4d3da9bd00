import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import { type Node, RootConstruct } from 'constructs';
import type { StackTemplate } from './cost/bill.ts';
import { recordedPeakRates } from './settings/peak-rates.ts';
import { PREFIX } from './settings/rules.ts';
import { peakRatesOf, readSettings, recordedSettings } from './settings.ts';
import { buildStacks } from './stacks.ts';

type Context = Readonly<Record<string, unknown>>;

/**
 * Returns templates without code, keyed by stack name. Leaves no files on disk. Collects no metadata of the constructs,
 * because that would take a fifth of the time.
 *
 * @param context as in `cdk deploy -c`
 * @param ofClone the context to which `context` is added
 * @throws Error for an invalid setting
 */
export function synthesizedStacks(context: Context, ofClone = contextOfClone()): ReadonlyMap<string, StackTemplate> {
  const outdir = mkdtempSync(join(tmpdir(), 'payonce-synth-'));
  try {
    const app = new App({
      outdir,
      treeMetadata: false,
      stackTraces: false,
      analyticsReporting: false,
      context: { ...ofClone, 'aws:cdk:bundling-stacks': [], ...context },
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
export function settingsOfClone(context: Context, ofClone = contextOfClone()): Record<string, string> {
  return recordedSettings(readSettings(nodeWith({ ...ofClone, ...context })));
}

/**
 * Returns the peak rates of a deployment with this context, as recorded in the activity log; undefined if they are not
 * set. Unlike {@link settingsOfClone}, does not read the other settings, which may be missing.
 * @throws Error for an invalid setting
 */
export function peakRatesOfClone(context: Context, ofClone = contextOfClone()): string | undefined {
  const rates = peakRatesOf(nodeWith({ ...ofClone, ...context }));
  return rates === undefined ? undefined : recordedPeakRates(rates);
}

function nodeWith(context: Context): Node {
  const { node } = new RootConstruct();
  for (const [name, value] of Object.entries(context)) node.setContext(name, value);
  return node;
}

function contextOfClone(): Context {
  const text = readFileSync(new URL('../cdk.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { context: Context }).context;
}

/** Tests and generated documents must not depend on one deployment, so they ignore the settings in cdk.json. */
export function flagsOf(context: Context = contextOfClone()): Context {
  return Object.fromEntries(Object.entries(context).filter(([name]) => !name.startsWith(PREFIX)));
}
