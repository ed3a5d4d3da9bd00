import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { FileSystem } from 'aws-cdk-lib';
import { ENDPOINTS } from '../../lambdas/api-docs/endpoints.ts';
import { bundle, bundleWithPostgres } from '../../lib/lambda-code.ts';
import { paymentsEnvironment } from '../support/payments-environment.ts';
import { inTurn, whole } from '../support/slice.ts';
import { startFiles, startOf, startSize } from '../support/start-size.ts';
import { gatewayEvent } from '../world/gateway-event.ts';

const FUNCTIONS = [
  'api-documents',
  'archive-auditor',
  'archiver',
  'audit',
  'callbacks',
  'commission-consumer',
  'cron-executor',
  'dead-letters',
  'export-writer',
  'exports',
  'job-targets',
  'jobs',
  'ledger',
  'orders',
  'outbox-relay',
  'payment-jobs',
  'payment-requests',
  'payments',
  'reads',
  'receipt-consumer',
  'republish-range',
  'sandbox-processor',
  'upkeep-jobs',
  'views-projector',
  'webhook-fan-out',
  'webhook-sender',
  'webhooks',
];

function ownSources(folder: string, isAsked: (file: string) => boolean = () => true): readonly string[] {
  const found = readdirSync(folder)
    .filter((file) => file.endsWith('.mjs') && isAsked(file))
    .flatMap((file) => {
      const { sources } = JSON.parse(readFileSync(join(folder, `${file}.map`), 'utf8')) as { sources: string[] };
      return sources.flatMap((source) => /(?<!node_modules.*)lambdas\/[^.].*$/.exec(source)?.[0] ?? []);
    });
  return [...new Set(found)].sort();
}

function mapsOf(folder: string): readonly string[] {
  const maps = readdirSync(folder).filter((file) => file.endsWith('.map'));
  return maps.map((file) => readFileSync(join(folder, file), 'utf8'));
}

/** Finds `{name}=await import(part)`, `(await import(part)).name` and `import(part).then(({name})` in minified code. */
function laterReads(text: string): readonly { readonly part: string; readonly names: readonly string[] }[] {
  const destructured = [...text.matchAll(/\{([^{}]*)\}=await import\("\.\/([^"]+)"\)/g)].map(
    ([, names = '', part = '']) => ({ part, names: names.split(',').map((each) => each.split(':')[0] ?? '') }),
  );
  const awaited = [...text.matchAll(/import\("\.\/([^"]+)"\)\.then\(\(\{([^{}]*)\}\)/g)].map(
    ([, part = '', names = '']) => ({ part, names: names.split(',').map((each) => each.split(':')[0] ?? '') }),
  );
  const members = [...text.matchAll(/\(await import\("\.\/([^"]+)"\)\)\.([\w$]+)/g)].map(
    ([, part = '', name = '']) => ({ part, names: [name] }),
  );
  return [...destructured, ...awaited, ...members];
}

function exportsOf(text: string): ReadonlySet<string> {
  const [, exported = ''] = /export\{([^{}]*)\};?\s*$/.exec(text) ?? [];
  return new Set(exported.split(',').map((each) => each.split(' as ').at(-1) ?? ''));
}

/** The functions that call processors or read their books. */
const CALLERS = [
  'callbacks',
  'ledger',
  'orders',
  'payment-jobs',
  'payment-requests',
  'payments',
  'reads',
  'upkeep-jobs',
];

const holdsStripe = (path: string) => readFileSync(path, 'utf8').includes('api.stripe.com');

describe('the bundles', () => {
  const directories: string[] = [];
  const bundled = (names?: readonly string[]): string => {
    const directory = mkdtempSync(join(tmpdir(), 'payonce-bundle-'));
    directories.push(directory);
    bundle(directory, names);
    return directory;
  };
  let first = '';

  beforeAll(() => {
    first = bundled();
  });

  afterAll(() => {
    for (const directory of directories) rmSync(directory, { recursive: true, force: true });
  });

  test('have one folder per function, with its module and only those files that the function reads', () => {
    expect(readdirSync(first).sort()).toEqual(FUNCTIONS);
    expect(readdirSync(join(first, 'webhooks')).sort()).toEqual(['index.mjs', 'index.mjs.map']);
    for (const file of readdirSync(join(first, 'payments')))
      expect(file).toMatch(/^(index|shared|[a-z-]+-[0-9A-Z]{8})\.mjs(\.map)?$/);
    expect(readdirSync(join(first, 'api-documents')).sort()).toEqual([
      'console',
      'index.mjs',
      'index.mjs.map',
      'swagger-ui-bundle.js',
      'swagger-ui.css',
    ]);
  });

  /** Each of these tests bundles functions again. */
  const turn = (place: number) => inTurn(test, { place, of: 3, otherwise: test.skip });

  turn(0)('are identical whether all functions or only selected ones are built', () => {
    const one = bundled(['sandbox-processor']);
    expect(readdirSync(one)).toEqual(['sandbox-processor']);
    const [alone, among] = [one, first].map((each) => FileSystem.fingerprint(join(each, 'sandbox-processor')));
    expect(alone).toBe(among);
  });

  turn(1)('have an unchanged hash if their sources are unchanged, so that they are not deployed again', () => {
    const again = whole(FUNCTIONS, { slice: ['api-documents', 'callbacks', 'webhooks'] });
    const second = bundled(again);
    expect(readdirSync(second).sort()).toEqual(again);
    for (const name of again) {
      expect(FileSystem.fingerprint(join(second, name))).toBe(FileSystem.fingerprint(join(first, name)));
    }
  });

  turn(2)('contain the PostgreSQL driver only if PostgreSQL is the authority, and load it after the start', () => {
    const texts = (folder: string, files = readdirSync(folder)) =>
      files.filter((file) => file.endsWith('.mjs')).map((file) => readFileSync(join(folder, file), 'utf8'));
    const hasDriver = (text: string) => text.includes('SCRAM-SERVER-FINAL-MESSAGE');
    expect(FUNCTIONS.filter((name) => texts(join(first, name)).some(hasDriver))).toEqual([]);
    const ofPostgres = /node_modules\/pg|lambdas\/postgres\/|\/store\/postgres-|postgres-authority|carry-job/;
    expect(FUNCTIONS.filter((name) => mapsOf(join(first, name)).some((text) => ofPostgres.test(text)))).toEqual([]);

    const directory = mkdtempSync(join(tmpdir(), 'payonce-bundle-'));
    directories.push(directory);
    bundleWithPostgres(directory, ['payments', 'receipt-consumer', 'webhooks']);
    expect(readdirSync(directory)).toEqual(['payments', 'receipt-consumer']);
    for (const name of readdirSync(directory)) expect(texts(join(directory, name)).some(hasDriver)).toBe(true);
    expect(mapsOf(join(directory, 'payments')).some((text) => ofPostgres.test(text))).toBe(true);
    const payments = join(directory, 'payments');
    expect(texts(payments, [...startFiles(payments)]).some(hasDriver)).toBe(false);
  });

  test('contain only one credential provider, which reads the environment', () => {
    const sources = mapsOf(join(first, 'payments')).join('');
    const providers = sources.match(/@(?:aws-sdk|smithy)\/(?:credential-provider|token-provider|nested-client)[^/"]*/g);
    expect(new Set(providers)).toEqual(new Set(['@aws-sdk/credential-provider-env']));
  });

  test.each([
    // The size varies by a few hundred bytes with the path of the clone.
    ['payments', 484_000],
    ['reads', 447_000],
  ])(
    'let the function %s load at most %d bytes at start, without the API documents and the tracing code',
    (name, bytes) => {
      const folder = join(first, name);

      expect(startSize(folder)).toBeLessThanOrEqual(bytes);
      const files = startFiles(folder).map((file) => readFileSync(join(folder, file), 'utf8'));
      expect(files.join('')).not.toContain('openapi:"3.1');
      expect(files.join('')).not.toContain('subsegment');
    },
  );

  test('let the payments function start with three files, and build at most 220 schemas at its start', () => {
    const { files, schemas } = startOf(join(first, 'payments'), paymentsEnvironment('http://127.0.0.1:1'));

    const names = files.map((file) => file.replace(/-[0-9A-Z]{8}/, '')).toSorted();
    expect(names).toEqual(['index.mjs', 'sandbox-client.mjs', 'shared.mjs']);
    // About 20 of these schemas are for requests other than a first payment. Schemas of rows and responses are built
    // when they are first used.
    expect(schemas).toBeGreaterThan(100);
    expect(schemas).toBeLessThanOrEqual(220);
  });

  test('export from each part everything that a function reads after it has loaded the part', () => {
    const unknown: string[] = [];
    const reads = new Map<string, number>();
    for (const name of FUNCTIONS) {
      const texts = new Map(
        readdirSync(join(first, name))
          .filter((file) => file.endsWith('.mjs'))
          .map((file) => [file, readFileSync(join(first, name, file), 'utf8')]),
      );
      for (const [file, text] of texts) {
        for (const { part, names } of laterReads(text)) {
          reads.set(name, (reads.get(name) ?? 0) + names.length);
          const exported = exportsOf(texts.get(part) ?? '');
          unknown.push(
            ...names.filter((each) => !exported.has(each)).map((each) => `${name}/${file}: ${part} ${each}`),
          );
        }
      }
    }
    expect(unknown).toEqual([]);
    // The functions that call processors load parts of their code on demand. Each reads at least ten exports of its
    // parts.
    for (const name of CALLERS) expect([name, (reads.get(name) ?? 0) >= 10]).toEqual([name, true]);
  });

  test.each([
    ['shared', 'did not respond in time', 'lambdas/outbound/http-call.ts'],
    ['sandbox-client', 'responded with 201 and a declined charge', 'lambdas/processors/sandbox/sandbox-answers.ts'],
  ])(
    'have a source map that leads from the file %s to the original line, although esbuild bundles the file twice',
    (name, text, source) => {
      const folder = join(first, 'payments');
      const file = readdirSync(folder).find((each) => each.startsWith(name) && each.endsWith('.mjs')) ?? '';
      const lines = readFileSync(join(folder, file), 'utf8').split('\n');
      const line = lines.findIndex((each) => each.includes(text));
      const map = JSON.parse(readFileSync(join(folder, `${file}.map`), 'utf8')) as SourceMapPayload;

      const origin = new SourceMap(map).findOrigin(line + 1, (lines[line] ?? '').indexOf(text) + 1);
      const [, path = ''] = /(lambdas\/.+)/.exec('fileName' in origin ? origin.fileName : '') ?? [];
      expect(path).toBe(source);
      const original = readFileSync(path, 'utf8').split('\n');
      expect(original['lineNumber' in origin ? origin.lineNumber - 1 : 0]).toContain(text);
    },
  );

  test('exclude the code for reads, lists, API documents and operators from the payments function', () => {
    const own = ownSources(join(first, 'payments'));

    const rooms = new Set(own.map((source) => source.split('/')[1] ?? ''));
    expect([...rooms].toSorted((left, right) => left.localeCompare(right))).toEqual([
      'activity',
      'authority',
      'functions',
      'http',
      'kernel',
      'once',
      'outbound',
      'payments',
      'processors',
      'tenants',
    ]);
    const others =
      /payments\/http\/(?:get-|list-|payment-(?:parts|read))|ledger-transitions|operator|identity-provider/;
    expect(own.filter((source) => others.test(source))).toEqual([]);
  });

  test('let the payments function load all of its own code at its start, except the code for processors, secrets and tracing', () => {
    const folder = join(first, 'payments');
    const atStart = new Set(startFiles(folder));

    const later = ownSources(folder, (file) => !atStart.has(file));
    expect(later.filter((source) => !/^lambdas\/(?:processors|outbound)\//.test(source))).toEqual([
      // The next two files load the Secrets Manager package.
      'lambdas/kernel/platform/active-secrets.ts',
      'lambdas/kernel/platform/secrets-manager.ts',
      'lambdas/kernel/platform/x-ray.ts',
      'lambdas/once/traced-runner.ts',
    ]);
  });

  test.each(CALLERS)('do not let the function %s load Stripe’s package at start', (name) => {
    const folder = join(first, name);
    expect(startFiles(folder).filter((file) => holdsStripe(join(folder, file)))).toEqual([]);
  });

  test('include the API documentation only in the documents function, which contains no handlers', () => {
    const textOf = (name: string) =>
      readdirSync(join(first, name))
        .filter((file) => file.endsWith('.mjs'))
        .map((file) => readFileSync(join(first, name, file), 'utf8'))
        .join('');
    const texts = ENDPOINTS.flatMap(({ docs }) =>
      [docs.summary, docs.description].map((text) => /^[ -~]{1,40}/.exec(text)?.[0] ?? ''),
    );
    const documents = textOf('api-documents');

    expect(texts.filter((text) => !documents.includes(text))).toEqual([]);
    expect(documents.includes('has too many entries in other currencies')).toBe(false);
    for (const name of FUNCTIONS.filter((each) => each !== 'api-documents')) {
      const code = textOf(name);
      expect({ name, documented: texts.filter((text) => code.includes(text)) }).toEqual({ name, documented: [] });
    }
  });

  test('include the generator of JSON schemas only in the documents function', () => {
    const makes = readdirSync(first).filter((name) =>
      readdirSync(join(first, name)).some(
        (file) => file.endsWith('.mjs') && readFileSync(join(first, name, file), 'utf8').includes('unrepresentable'),
      ),
    );
    expect(makes).toEqual(['api-documents']);
  });

  test('include Stripe’s package only in the functions that call processors', () => {
    const holding = readdirSync(first).filter((name) =>
      readdirSync(join(first, name)).some((file) => file.endsWith('.mjs') && holdsStripe(join(first, name, file))),
    );
    expect(holding).toEqual(CALLERS);
  });

  test('let the documents function find its files in its own folder', async () => {
    const { handler } = (await import(join(first, 'api-documents', 'index.mjs'))) as {
      handler: (event: object) => Promise<{ statusCode: number; body: string }>;
    };

    for (const name of ['swagger-ui-bundle.js', 'swagger-ui.css']) {
      const result = await handler(gatewayEvent('GET', `/docs/${name}`));
      expect(result.statusCode).toBe(200);
      expect(result.body).toBe(readFileSync(join(first, 'api-documents', name), 'utf8'));
    }
  });
});
