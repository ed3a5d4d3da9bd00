import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { bundle } from '../lib/lambda-code.ts';
import { inTurns, type Turns } from './start.ts';

/** Owners of the running code, in the order of the table. `compilation` is V8's of modules; `V8` is the rest of V8. */
const PARTS = ['AWS SDK', 'Payonce', 'zod', 'Powertools', 'other packages', 'Node.js', 'compilation', 'V8'] as const;
type Part = (typeof PARTS)[number];
export type Owner = Exclude<Part, 'Node.js' | 'compilation' | 'V8'>;

/** Each share is from 0 to 1. */
export type Shares = Readonly<Record<Part, number>>;

/** The part of a V8 CPU profile that is read (Chrome DevTools Protocol, "Profiler.Profile"). */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: {
      readonly functionName: string;
      readonly url: string;
      /** Counted from 0. */
      readonly lineNumber: number;
      /** Counted from 0. */
      readonly columnNumber: number;
    };
  }[];
  readonly samples: readonly number[];
  /** Microseconds before each sample. */
  readonly timeDeltas: readonly number[];
}

type Frame = CpuProfile['nodes'][number]['callFrame'];

/** @param payments the number of payments that follow the import; 0 for the import alone */
export async function profilePayments({ rounds, payments }: Turns): Promise<Shares> {
  const directory = mkdtempSync(join(tmpdir(), 'payonce-profile-'));
  const profiles = join(directory, 'profiles');
  try {
    await inTurns(['payments'], { rounds, payments, profiles });
    // Bundling the same sources again gives the same code, so these source maps match the profiles.
    const bundles = join(directory, 'bundles');
    bundle(bundles, ['payments']);
    return sharesIn(profiles, join(bundles, 'payments'));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/**
 * @param profiles the directory that contains only the profiles of identical processes
 * @param folder the bundle that the processes ran
 */
export function sharesIn(profiles: string, folder: string): Shares {
  const sourceOf = sourcesIn(folder);
  const all = readdirSync(profiles).map((file) =>
    sharesOf(JSON.parse(readFileSync(join(profiles, file), 'utf8')) as CpuProfile, sourceOf),
  );
  const mean = (part: Part): number => all.reduce((sum, shares) => sum + shares[part], 0) / all.length;
  return Object.fromEntries(PARTS.map((part) => [part, mean(part)])) as Shares;
}

/** @param sourceOf returns a frame's source file; undefined for code outside the bundle */
export function sharesOf(
  { nodes, samples, timeDeltas }: CpuProfile,
  sourceOf: (frame: Frame) => string | undefined,
): Shares {
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const spent: Record<Part, number> = {
    'AWS SDK': 0,
    Payonce: 0,
    zod: 0,
    Powertools: 0,
    'other packages': 0,
    'Node.js': 0,
    compilation: 0,
    V8: 0,
  };
  let total = 0;
  for (const [at, id] of samples.entries()) {
    const frame = frames.get(id);
    if (frame === undefined || frame.functionName === '(idle)') continue;
    const took = timeDeltas[at] ?? 0;
    total += took;
    spent[partOf(frame, sourceOf)] += took;
  }
  return Object.fromEntries(PARTS.map((part) => [part, spent[part] / total])) as Shares;
}

/** Node.js function that triggers V8's ES-module compilation. The profiler attributes the compile time to it. */
const COMPILE = 'compileSourceTextModule';

/** A frame without a URL is V8's own code: garbage collection or a built-in function. */
function partOf(frame: Frame, sourceOf: (frame: Frame) => string | undefined): Part {
  if (frame.url === '') return 'V8';
  if (frame.functionName === COMPILE) return 'compilation';
  if (frame.url.startsWith('node:')) return 'Node.js';
  const source = sourceOf(frame);
  // A frame without a source file belongs to the measuring program, which runs on Node.js and takes nearly no time.
  return source === undefined ? 'Node.js' : ownerOf(source);
}

function ownerOf(source: string): Owner {
  if (/node_modules\/@(?:aws-sdk|smithy|aws-crypto)\//.test(source)) return 'AWS SDK';
  if (source.includes('node_modules/zod/')) return 'zod';
  if (source.includes('node_modules/@aws-lambda-powertools/')) return 'Powertools';
  return source.includes('node_modules/') ? 'other packages' : 'Payonce';
}

/** The function returns undefined for code outside the bundle. */
function sourcesIn(folder: string): (frame: Frame) => string | undefined {
  const maps = new Map<string, SourceMap>();
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.mjs'))) {
    const payload = JSON.parse(readFileSync(join(folder, `${file}.map`), 'utf8')) as SourceMapPayload;
    maps.set(file, new SourceMap(payload));
  }
  return ({ url, lineNumber, columnNumber }) => {
    const map = maps.get(basename(url));
    if (map === undefined) return undefined;
    const entry = map.findEntry(lineNumber, columnNumber);
    // Code that the bundler adds has no source.
    return 'originalSource' in entry ? entry.originalSource : url;
  };
}

/**
 * Code that the bundler adds counts as Payonce's.
 *
 * @param files names of files of the bundle
 */
export function bytesByOwner(folder: string, files: readonly string[]): Readonly<Record<Owner, number>> {
  const sourceOf = sourcesIn(folder);
  const bytes: Record<Owner, number> = { 'AWS SDK': 0, Payonce: 0, zod: 0, Powertools: 0, 'other packages': 0 };
  for (const file of files) {
    for (const [lineNumber, line] of readFileSync(join(folder, file), 'utf8').split('\n').entries()) {
      for (let columnNumber = 0; columnNumber < line.length; columnNumber += 1) {
        const source = sourceOf({ functionName: '', url: file, lineNumber, columnNumber });
        bytes[ownerOf(source ?? file)] += 1;
      }
    }
  }
  return bytes;
}

export function sharesTable(columns: Readonly<Record<string, Shares>>): string {
  const names = Object.keys(columns);
  const rows = PARTS.map((part) => {
    const cells = Object.values(columns).map((shares) => `${(100 * shares[part]).toFixed(0)} %`);
    return `| ${[part, ...cells].join(' | ')} |`;
  });
  return [`| part | ${names.join(' | ')} |`, `|---${'|---'.repeat(names.length)}|`, ...rows].join('\n');
}
