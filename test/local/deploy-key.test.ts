import {
  appendFileSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { build } from 'esbuild';
import { deployKey, inputFiles } from '../../local/deploy-key.ts';
import { PROJECT } from '../../local/directories.ts';

const INPUTS = [
  'bin/app.ts',
  'lib/stacks.ts',
  'lambdas/functions/payments.ts',
  'sandbox/handler.ts',
  'console/main.tsx',
  'console/.env',
  'bridge/main.ts',
  'client/index.ts',
  'local/cdk.ts',
  'local/emulator.py',
  'local/requirements.txt',
  'a-new-folder/file.ts',
  'cdk.json',
  'cdk.context.json',
  '.npmrc',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'node_modules/.package-lock.json',
];
const PACKAGE_FILES = ['node_modules/hono/index.js', 'node_modules/@aws-sdk/client-sqs/node_modules/x/index.js'];
const NO_INPUTS = [
  'README.md',
  'npm-debug.log',
  'shop.db',
  'shop.db-journal',
  'test/a.test.ts',
  'docs/a.md',
  'cdk.out/tree.json',
  'dist/a.js',
  '.payonce/local.json',
  '.git/HEAD',
  'local/__pycache__/emulator.pyc',
  'node_modules/.cache/jest/a',
];

let project = '';
beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), 'payonce-key-'));
  for (const path of [...INPUTS, ...PACKAGE_FILES, ...NO_INPUTS]) {
    mkdirSync(dirname(join(project, path)), { recursive: true });
    writeFileSync(join(project, path), 'a');
  }
});
afterEach(() => rmSync(project, { recursive: true, force: true }));

describe('the deployment fingerprint', () => {
  test('is the same for the same files', () => {
    expect(deployKey(project)).toMatch(/^[0-9a-f]{64}$/);
    expect(deployKey(project)).toBe(deployKey(project));
  });

  test.each(INPUTS)('changes if one byte of %s changes', (path) => {
    const before = deployKey(project);
    writeFileSync(join(project, path), 'b');
    expect(deployKey(project)).not.toBe(before);
  });

  test.each([...INPUTS.filter((path) => path !== 'node_modules/.package-lock.json'), ...PACKAGE_FILES])(
    'changes if %s is removed, and again if a new file is added next to it',
    (path) => {
      const before = deployKey(project);
      rmSync(join(project, path));
      const without = deployKey(project);
      writeFileSync(join(project, `${path}.ts`), 'a');
      expect(new Set([before, without, deployKey(project)]).size).toBe(3);
    },
  );

  test.each(PACKAGE_FILES)('changes with the size and the modification time of %s', (path) => {
    const before = deployKey(project);
    utimesSync(join(project, path), 1_000, 1_000);
    const touched = deployKey(project);
    appendFileSync(join(project, path), 'b');
    utimesSync(join(project, path), 1_000, 1_000);
    expect(new Set([before, touched, deployKey(project)]).size).toBe(3);
  });

  test('changes with the Node version', () => {
    expect(deployKey(project, 'v24.0.1')).not.toBe(deployKey(project, 'v24.0.0'));
  });

  test.each(NO_INPUTS)('does not change if %s changes', (path) => {
    const before = deployKey(project);
    writeFileSync(join(project, path), 'b');
    expect(deployKey(project)).toBe(before);
  });

  test.each(['lib/linked.ts', 'linked', 'node_modules/linked', 'node_modules/hono/linked'])(
    'is undefined if %s is a link to another folder, because files in that folder can change',
    (path) => {
      symlinkSync(join(project, 'test'), join(project, path));
      expect(deployKey(project)).toBeUndefined();
    },
  );

  test('covers the target of a link to a file of the same package', () => {
    const linked = join(project, 'node_modules/hono/linked.js');
    symlinkSync('package.json', linked);
    const before = deployKey(project);
    expect(before).toBeDefined();
    rmSync(linked);
    symlinkSync('index.js', linked);
    expect(deployKey(project)).not.toBe(before);
  });

  test.each(['../linked.js', '../hono-node/index.js', join(tmpdir(), 'index.js'), '..', '.'])(
    'is undefined for the link %s in a package, because the target is not a file of the package',
    (target) => {
      symlinkSync(target, join(project, 'node_modules/hono/linked'));
      expect(deployKey(project)).toBeUndefined();
    },
  );
});

test('the deployment fingerprint of this project can be computed with the packages that "npm ci" installs', () => {
  expect(deployKey()).toMatch(/^[0-9a-f]{64}$/);
});

test('the deployment fingerprint covers every module of the stacks, the functions, the console and the local AWS', async () => {
  const functions = globSync('*.ts', { cwd: join(PROJECT, 'lambdas', 'functions') }).map(
    (file) => `lambdas/functions/${file}`,
  );
  const { metafile } = await build({
    absWorkingDir: PROJECT,
    entryPoints: [
      'bin/app.ts',
      'lib/bundler.ts',
      'sandbox/handler.ts',
      'console/main.tsx',
      'console/vite.config.ts',
      'local/local-aws.ts',
      'local/keeper.ts',
      ...functions,
    ],
    bundle: true,
    write: false,
    outdir: 'dist',
    metafile: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    jsx: 'automatic',
    loader: { '.svg': 'dataurl', '.png': 'dataurl', '.woff2': 'dataurl' },
    logLevel: 'error',
  });
  const modules = Object.keys(metafile.inputs);
  expect(modules.length).toBeGreaterThan(500);
  const inputs = new Set(inputFiles());
  expect(modules.filter((path) => !inputs.has(path))).toEqual([]);
});
