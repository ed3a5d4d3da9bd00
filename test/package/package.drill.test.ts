import { once } from 'node:events';
import { existsSync, globSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { AUTHORITY_FUNCTIONS, POSTGRES_AUTHORITY } from '../../lambdas/authority/contract.ts';
import { readMigrations } from '../../lambdas/postgres/migrations.ts';
import { BROWSER_ENTRY_POINTS, ENTRY_POINTS } from '../../package/manifest.ts';
import { oldNode } from '../client/old-node.ts';
import { installed, python } from '../client/python-lives.ts';
import { blocksOf } from '../support/documents.ts';
import { createDatabase } from '../support/postgres.ts';
import { startServer } from '../support/server-process.ts';
import { synthesize } from '../support/synth.ts';
import { foreignProject } from './foreign-app.ts';

/** Measured: 20.9 MB, mostly source maps of the functions; a third of it is due to PostgreSQL. */
const MAX_PACKED_BYTES = 21_300_000;

const OLD_NODE = oldNode();
const foreign = await foreignProject(['aws-cdk-lib', 'constructs', 'esbuild']);
afterAll(() => foreign.remove());

const read = (path: string): string => readFileSync(join(foreign.installed, path), 'utf8');
const manifest = JSON.parse(read('package.json')) as {
  readonly exports: Readonly<Record<string, { readonly types: string; readonly default: string }>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly dependencies?: unknown;
};

test('the build reports its steps, and then their durations', () => {
  const steps = ['Code', 'Types', 'Functions', 'Functions with PostgreSQL', 'Package', 'Python package'];
  expect(foreign.progress.slice(0, -1)).toEqual(steps);
  const parts = steps.map((step) => `${step} \\d+\\.\\d s`).join(', ');
  expect(foreign.progress.at(-1)).toMatch(new RegExp(`^Ready after \\d+\\.\\d s: ${parts}\\.$`));
});

test('the package has exactly the expected files: no sources, tests or local AWS files', () => {
  const folders = ['bin', 'dist', 'functions', 'functions-postgres', 'types'];
  const files = ['LICENSE', 'README.md', 'THIRD-PARTY-LICENSES', 'cdk.json', 'package.json'];
  expect(readdirSync(foreign.installed).toSorted()).toEqual([...files, ...folders].toSorted());
  const all = readdirSync(foreign.installed, { recursive: true, encoding: 'utf8' });
  expect(all.filter((path) => /(?:^|\/)(?:\.payonce|test|local|demo|bench|node_modules)(?:\/|$)/.test(path))).toEqual(
    [],
  );
  const unexpected = all.filter(
    (path) => /\.[a-z]+$/.test(path) && !/\.(?:d\.ts|m?js|map|css|html|json|md|sql)$/.test(path),
  );
  expect(unexpected).toEqual([]);
  const sources = globSync('*.ts', { cwd: join(import.meta.dirname, '..', '..', 'lambdas', 'functions') });
  const functions = [...sources.map((file) => file.replace(/\.ts$/, '')), 'sandbox-processor'];
  expect(readdirSync(join(foreign.installed, 'functions')).toSorted()).toEqual(functions.toSorted());
  expect(readdirSync(join(foreign.installed, 'functions-postgres')).toSorted()).toEqual(AUTHORITY_FUNCTIONS);
});

test('the package does not exceed its maximum size', () => {
  expect(statSync(foreign.tarball).size).toBeLessThan(MAX_PACKED_BYTES);
});

test('the package has no dependencies, and each package that its types import is a peer dependency', () => {
  expect(manifest.dependencies).toBeUndefined();
  const types = globSync('types/**/*.d.ts', { cwd: foreign.installed }).map(read).join('\n');
  const named = [...types.matchAll(/(?:from |import\()['"]((?:@[^/'"]+\/)?[^./'"][^/'"]*)/g)].map(
    ([, name = '']) => name,
  );
  const own = new Set(
    named
      .filter((name) => !name.startsWith('node:'))
      .map((name) => (name === 'aws-lambda' ? '@types/aws-lambda' : name)),
  );
  expect([...own].filter((name) => !(name in manifest.peerDependencies))).toEqual([]);
});

test('each relative import in the type declarations resolves to a file of the package', () => {
  const missing = globSync('types/**/*.d.ts', { cwd: foreign.installed }).flatMap((file) =>
    [...read(file).matchAll(/(?:from |import |import\()['"](\.[^'"]*)['"]/g)]
      .map(([, path = '']) => join(dirname(file), path.replace(/\.js$/, '.d.ts')))
      .filter((path) => !existsSync(join(foreign.installed, path))),
  );
  expect(missing).toEqual([]);
});

describe('entry points', () => {
  test.each(Object.entries(ENTRY_POINTS))('%s has code, a source map, and types', (door, source) => {
    const code = `dist/${basename(source)}.js`;
    expect(manifest.exports[door]).toEqual({ types: `./types/${source}.d.ts`, default: `./${code}` });
    for (const path of [code, `${code}.map`, `types/${source}.d.ts`])
      expect(existsSync(join(foreign.installed, path))).toBe(true);
  });

  test('can each be imported by name', async () => {
    const doors = Object.keys(ENTRY_POINTS).map((door) => `payonce${door.slice(1)}`);
    foreign.write(
      'doors.mjs',
      `const found = {}; for (const door of ${JSON.stringify(doors)}) found[door] = Object.keys(await import(door)); console.log(JSON.stringify(found));`,
    );
    const { stdout, stderr } = await foreign.run(['doors.mjs']);
    expect(stderr).toBe('');
    const found = JSON.parse(stdout) as Readonly<Record<string, readonly string[]>>;
    expect(found['payonce']).toEqual(
      expect.arrayContaining([
        'Payonce',
        'DataStack',
        'ServiceStack',
        'SandboxStack',
        'Payments',
        'Webhooks',
        'EventConsumer',
      ]),
    );
    expect(found['payonce/client']).toEqual(expect.arrayContaining(['createClient', 'memoryKeys', 'ProblemError']));
    expect(found['payonce/browser-keys']).toEqual(['browserKeys']);
    expect(found['payonce/file-keys']).toEqual(['fileKeys']);
    expect(found['payonce/events']).toEqual(
      expect.arrayContaining(['createEventHandler', 'EventNames', 'EventSchemas', 'readEvent']),
    );
    expect(found['payonce/once']).toEqual(expect.arrayContaining(['createOnce', 'admitJobs', 'FencedError']));
    expect(found['payonce/vendor']).toEqual(expect.arrayContaining(['createVendor', 'AmbiguousError']));
    expect(found['payonce/webhooks']).toEqual(expect.arrayContaining(['verifyWebhook']));
  });

  test.each(BROWSER_ENTRY_POINTS)('%s imports nothing', (source) => {
    const code = read(`dist/${basename(source)}.js`);
    expect(code).not.toMatch(/\bimport\b[^;]*from|\bimport\(|\brequire\(|node:/);
    expect(code).toContain('export {');
  });
});

describe('with the constructs of the package,', () => {
  test('the documented app has two environments, and a Payonce construct with the id Default produces the same templates as a clone', async () => {
    const [app = '', points = ''] = blocksOf('docs/start/your-own-cdk-app.md', 'In your own CDK app', 'js');
    foreign.write('app.js', `${app}new Payonce(app, 'Default', { sandbox: true });\n`);
    foreign.write('points.js', points);
    const { code, stderr } = await foreign.run(['app.js'], { CDK_OUTDIR: 'cdk.out', CDK_VALIDATION: 'false' });
    // Standard error may also contain the output of the bundler for points.js, so it is shown only after a failure.
    expect(code === 0 ? '' : stderr).toBe('');
    const names = readdirSync(join(foreign.folder, 'cdk.out')).filter((file) => file.endsWith('.template.json'));
    const byStack = (name: string) => {
      const file = names.find((each) => each.startsWith(name)) ?? '';
      return comparable(JSON.parse(readFileSync(join(foreign.folder, 'cdk.out', file), 'utf8')));
    };
    const clone = await synthesize();
    // A Payonce construct with the id Default adopts the deployment of a clone. The id matters because the ids of queue
    // mappings contain the entire construct path.
    for (const [name, stack] of Object.entries({ PayonceData: clone.data, PayonceService: clone.service }))
      expect(byStack(name)).toEqual(comparable(stack?.toJSON()));
    expect(byStack('PayonceSandbox')).toEqual(comparable(clone.sandbox?.toJSON()));
    for (const environment of ['staging', 'production']) {
      expect(JSON.stringify(byStack(`${environment}PayonceService`))).toContain(`${environment}.gift-cards.example`);
      expect(typesOf(byStack(`${environment}-Points`))).toContain('AWS::Lambda::EventSourceMapping');
    }
  });

  test('an app with PostgreSQL has the templates of a clone, and its PostgreSQL stores in exactly the functions that use them', async () => {
    foreign.write(
      'postgres.mjs',
      `import { App } from 'aws-cdk-lib';
       import { Payonce } from 'payonce';
       new Payonce(new App(), 'Default', ${JSON.stringify({ sandbox: true, ...POSTGRES })});`,
    );
    const output = join(foreign.folder, 'postgres.out');
    const { code, stderr } = await foreign.run(['postgres.mjs'], { CDK_OUTDIR: output, CDK_VALIDATION: 'false' });
    expect(code === 0 ? '' : stderr).toBe('');
    const [template = ''] = globSync('PayonceService*.template.json', { cwd: output });
    const service = JSON.parse(readFileSync(join(output, template), 'utf8')) as FunctionTemplate;
    const context = Object.entries(POSTGRES).map(([name, value]): [string, string] => [`payonce:${name}`, value]);
    expect(comparable(service)).toEqual(comparable((await synthesize(Object.fromEntries(context))).service?.toJSON()));
    const using = Object.values(service.Resources).flatMap(({ Type, Properties }) => {
      if (Type !== 'AWS::Lambda::Function') return [];
      const folder = join(output, `asset.${basename(Properties.Code?.S3Key ?? '', '.zip')}`);
      const texts = globSync('*.mjs', { cwd: folder }).map((file) => readFileSync(join(folder, file), 'utf8'));
      const hasStores = texts.some((text) => text.includes('INSERT INTO outbox'));
      expect(hasStores).toBe(POSTGRES_AUTHORITY in (Properties.Environment?.Variables ?? {}));
      return hasStores ? [folder] : [];
    });
    // This app has no payment-requests function, because it does not set the property that adds it.
    expect(using).toHaveLength(AUTHORITY_FUNCTIONS.length - 1);
  });

  (OLD_NODE === undefined ? test.skip : test)('an older Node is refused with one sentence', async () => {
    const [app = ''] = blocksOf('docs/start/your-own-cdk-app.md', 'In your own CDK app', 'js');
    foreign.write('app.js', app);
    for (const door of ['events', 'once', 'vendor']) foreign.write(`${door}.mjs`, `import 'payonce/${door}';`);
    for (const program of ['app.js', 'events.mjs', 'once.mjs', 'vendor.mjs'])
      expect(await foreign.run([program], {}, OLD_NODE)).toMatchObject({
        code: 3,
        stdout: '',
        stderr: expect.stringMatching(/^This part of payonce needs Node 24 or later, and this is 2\S+\.\n$/),
      });
  });

  test('an invalid property is rejected with the allowed values', async () => {
    foreign.write(
      'wrong.mjs',
      `import { App } from 'aws-cdk-lib';
       import { Payonce } from 'payonce';
       new Payonce(new App(), 'Payonce', { memoryMb: 1 });`,
    );
    expect(await foreign.run(['wrong.mjs'])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: 'payonce:memoryMb is 1, but must be a whole number from 128 to 10240\n',
    });
  });
});

const POSTGRES = {
  authority: 'postgres',
  postgresSecretArn: 'arn:aws:secretsmanager:eu-west-1:111122223333:secret:payonce-AbCdEf',
};

interface FunctionTemplate {
  readonly Resources: Readonly<
    Record<
      string,
      {
        readonly Type: string;
        readonly Properties: {
          readonly Code?: { readonly S3Key?: string };
          readonly Environment?: { readonly Variables: object };
        };
      }
    >
  >;
}

function typesOf(template: unknown): readonly string[] {
  const { Resources } = template as { readonly Resources: Readonly<Record<string, { readonly Type: string }>> };
  return Object.values(Resources)
    .map(({ Type }) => Type)
    .toSorted();
}

/**
 * Removes the parts that can differ: the function code (test templates have none), the metadata (it contains digests of
 * the code), and the app id in the descriptions of policies that the CDK splits.
 */
function comparable(template: unknown): unknown {
  return JSON.parse(JSON.stringify(template), (name, value: unknown) => {
    if (['Code', 'Metadata', 'aws:cdk:path', 'aws:asset:path'].includes(name)) return undefined;
    return name === 'Description' && typeof value === 'string' ? value.replace(' for Default/', ' for ') : value;
  });
}

describe('the command line', () => {
  const payonce = async (...words: readonly string[]) =>
    foreign.run([join('node_modules', '.bin', 'payonce'), ...words]);

  test('shows its help outside a clone, without the simulate command', async () => {
    const { code, stdout, stderr } = await payonce('--help');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('Usage: payonce');
    expect(stdout).toContain('verify');
    expect(stdout).not.toContain('simulate');
  });

  test('shows a bill outside a clone', async () => {
    const { code, stdout } = await payonce('cost', '--json', '--context', 'payonce:sandbox=true');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ region: 'us-east-1', lines: expect.anything() as unknown });
  });

  test('creates the PostgreSQL tables from the migrations of the package', async () => {
    const { server, url } = await startServer('postgres-server.ts');
    const ended = once(server, 'exit');
    try {
      const migrate = async () => payonce('db', 'migrate', '--url', (await database).url);
      const database = createDatabase(url);
      const versions = readMigrations().map(({ version }) => version);
      expect(await migrate()).toMatchObject({ code: 0, stdout: `Migrations applied: ${versions.join(', ')}.\n` });
      expect(await migrate()).toMatchObject({ code: 0, stdout: 'All migrations were already applied.\n' });
    } finally {
      server.disconnect();
      await ended;
    }
  });

  test('reports in one sentence that no local stack runs in the current folder', async () => {
    const { code, stderr } = await payonce('tenants', 'list', '--local');
    expect(code).toBe(4);
    expect(stderr).toMatch(/^No local stack runs in .*payonce-foreign-.*\.payonce: .*\n$/);
  });
});

test('the wheel of the Python client can be installed in an empty environment without a package index', async () => {
  const program = await installed(foreign.wheel, join(foreign.folder, 'environment'));
  const said = await python(['-c', 'import payonce; print(payonce.Client.__module__)'], { program, path: [] });
  expect(said).toBe('payonce.client\n');
});
