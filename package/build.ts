/**
 * Builds the tarball of the npm package and the wheel of the Python client, which other projects install. Nothing is
 * published. The bundles contain the npm packages that the code needs, so the built packages have no dependencies,
 * except optional peer dependencies.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type BuildOptions, build } from 'esbuild';
import { bundle, bundleWithPostgres } from '../lib/lambda-code.ts';
import { BINARIES, PROJECT } from '../local/directories.ts';
import { findPython } from '../local/python-environment.ts';
import { Steps } from '../local/steps.ts';
import { isAllowedLicence } from './licences.ts';
import { BROWSER_ENTRY_POINTS, ENTRY_POINTS, manifestOf } from './manifest.ts';

const { values } = parseArgs({ options: { directory: { type: 'string', default: join(PROJECT, 'dist') } } });
const DESTINATION = resolve(values.directory);
const FOLDER = join(DESTINATION, 'package');

const COPIED: Readonly<Record<string, string>> = {
  'package/payonce.mjs': 'bin/payonce.mjs',
  LICENSE: 'LICENSE',
  'README.md': 'README.md',
};

const COMMON: BuildOptions = {
  absWorkingDir: PROJECT,
  outdir: join(FOLDER, 'dist'),
  bundle: true,
  entryNames: '[name]',
  format: 'esm',
  mainFields: ['module', 'main'],
  sourcemap: 'linked',
  sourcesContent: true,
  legalComments: 'none',
  logLevel: 'error',
};

const entries = (names: readonly string[]): string[] => names.map((name) => `${name}.ts`);

async function makeCode(): Promise<void> {
  const onNode = Object.values(ENTRY_POINTS).filter((name) => !BROWSER_ENTRY_POINTS.includes(name));
  await Promise.all([
    build({ ...COMMON, entryPoints: entries(BROWSER_ENTRY_POINTS), platform: 'neutral', target: 'es2022' }),
    build({
      ...COMMON,
      entryPoints: entries([...onNode, 'package/cli']),
      platform: 'node',
      target: 'node24',
      splitting: true,
      chunkNames: 'chunk-[hash]',
      minifySyntax: true,
      minifyWhitespace: true,
      // When an error ends the process, Node prints the line of code that threw the error, and then the message. A pipe
      // may receive only the first 64 KiB of this output, so a longer line would hide the message.
      lineLimit: 1_000,
      external: ['aws-cdk-lib', 'constructs'],
    }),
  ]);
}

function makeTypes(): void {
  const all = join(DESTINATION, 'types');
  execFileSync(join(BINARIES, 'tsc'), ['-p', 'package', '--outDir', all], { cwd: PROJECT, stdio: 'inherit' });
  const open = Object.values(ENTRY_POINTS).map((name) => join(all, `${name}.d.ts`));
  const seen = new Set(open);
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    const text = readFileSync(path, 'utf8')
      .replaceAll(/((?:from |import\()['"]\.[^'"]*)\.ts(?=['"])/g, '$1.js')
      // Files that are imported only for their effect export no types.
      .replaceAll(/^import '\.[^']*';\n/gm, '');
    for (const [, file = ''] of text.matchAll(/(?:from |import\()['"](\.[^'"]*)\.js['"]/g)) {
      const next = join(dirname(path), `${file}.d.ts`);
      if (!seen.has(next)) open.push(next);
      seen.add(next);
    }
    write(join('types', relative(all, path)), text);
  }
  rmSync(all, { recursive: true });
}

/** The source maps do not list these packages, because they are not bundled. */
const COPIED_PACKAGES = ['swagger-ui-dist'];

/**
 * Covers all npm packages whose code is in the package.
 * @throws Error for a licence that is not allowed
 */
function licences(): string {
  const maps = ['dist', 'functions', 'functions-postgres'].flatMap((each) =>
    readdirSync(join(FOLDER, each), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.map'))
      .map(
        (file) => JSON.parse(readFileSync(join(FOLDER, each, file), 'utf8')) as { readonly sources: readonly string[] },
      ),
  );
  const folders = maps.flatMap(({ sources }) =>
    sources.flatMap((file) => /node_modules\/(?:.*\/node_modules\/)?(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file) ?? []),
  );
  const copied = COPIED_PACKAGES.map((name) => `node_modules/${name}`);
  const texts = [...new Set([...folders, ...copied])].toSorted().map((folder) => {
    const {
      name,
      version,
      license = 'no licence',
    } = JSON.parse(readFileSync(join(PROJECT, folder, 'package.json'), 'utf8')) as {
      readonly [field in 'name' | 'version']: string;
    } & { readonly license?: string };
    if (!isAllowedLicence(license))
      throw new Error(`${name} has ${license}; package/licences.ts lists the allowed licences`);
    const file = readdirSync(join(PROJECT, folder)).find((each) => /^licen[cs]e/i.test(each));
    const text = file === undefined ? '' : `\n\n${readFileSync(join(PROJECT, folder, file), 'utf8').trim()}`;
    return `${name} ${version}: ${license}${text}`;
  });
  return `${texts.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}

/** Standard output has only the paths of the packages. */
const steps = new Steps();
function begin(step: string): void {
  steps.begin(step);
  console.error(step);
}

function write(path: string, text: string): void {
  const to = join(FOLDER, path);
  mkdirSync(dirname(to), { recursive: true });
  writeFileSync(to, text);
}

// Without this setting, npm and tsc leave a cache in the temporary folder.
process.env['NODE_DISABLE_COMPILE_CACHE'] = '1';
rmSync(FOLDER, { recursive: true, force: true });
begin('Code');
await makeCode();
begin('Types');
makeTypes();
begin('Functions');
bundle(join(FOLDER, 'functions'));
begin('Functions with PostgreSQL');
bundleWithPostgres(join(FOLDER, 'functions-postgres'));
begin('Package');
write('THIRD-PARTY-LICENSES', licences());
for (const [from, to] of Object.entries(COPIED)) {
  mkdirSync(dirname(join(FOLDER, to)), { recursive: true });
  copyFileSync(join(PROJECT, from), join(FOLDER, to));
}
// The command line reads the migrations next to its code.
for (const folder of ['migrations', 'service-migrations'])
  cpSync(join(PROJECT, 'lambdas/postgres', folder), join(FOLDER, 'dist', folder), { recursive: true });
const readJson = (path: string): unknown => JSON.parse(readFileSync(join(PROJECT, path), 'utf8'));
const writeJson = (path: string, value: unknown): void => write(path, `${JSON.stringify(value, null, 2)}\n`);
writeJson('package.json', manifestOf(readJson('package.json') as Parameters<typeof manifestOf>[0]));
// Apps copy this file (docs/start/your-own-cdk-app.md). The constructs read the feature flags in it.
writeJson('cdk.json', { ...(readJson('cdk.json') as object), app: 'node app.js' });
const packed = execFileSync('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', DESTINATION], {
  cwd: FOLDER,
  encoding: 'utf8',
});
const tarball = join(DESTINATION, packed.trim());
if (!existsSync(tarball)) throw new Error(`npm pack did not write ${tarball}`);
console.log(tarball);
begin('Python package');
const [python, ...first] = await findPython();
const backend = join(PROJECT, 'clients', 'python', 'build_backend.py');
const wheel = execFileSync(python, [...first, '-B', backend, DESTINATION], { encoding: 'utf8' });
console.log(join(DESTINATION, wheel.trim()));
console.error(steps.summary());
