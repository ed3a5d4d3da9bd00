/**
 * Bundles with esbuild: reads a list of options as JSON from standard input. The bundler is a separate process, because
 * CDK synthesis is synchronous and esbuild plugins are asynchronous.
 */
import { readFileSync } from 'node:fs';
import { basename, join, sep } from 'node:path';
import { text } from 'node:stream/consumers';
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild';
import { withoutPart } from './endpoint-parts.ts';

export interface Bundled extends BuildOptions {
  /** @default false */
  readonly makesJsonSchemas?: boolean;
  /** @default false */
  readonly usesPostgres?: boolean;
}

/** The modules that generate JSON schemas. Zod schemas reference them, but most functions do not use them. */
const JSON_SCHEMAS = /[\\/]zod[\\/]v4[\\/]core[\\/](?:json-schema-processors|to-json-schema)\.js$/;
const TYPESCRIPT = /\.ts$/;
const LAMBDAS = join(import.meta.dirname, '..', 'lambdas', sep);
/**
 * The module that selects the stores of payments. In functions without the PostgreSQL stores, `ONLY_DYNAMODB` replaces
 * it. Otherwise, the file that is loaded at the start would also contain the code that these stores share with the rest
 * of the function.
 */
const AUTHORITY = join(LAMBDAS, 'authority', 'configured-authority.ts');
const ONLY_DYNAMODB = `import { POSTGRES_AUTHORITY } from './contract.ts';
import { dynamoDbAuthority } from './dynamodb-authority.ts';
export async function configuredAuthority(platform, tables) {
  const isPostgres = platform.variables[POSTGRES_AUTHORITY] !== undefined;
  if (isPostgres) throw new Error('this function is bundled without PostgreSQL');
  return dynamoDbAuthority(platform, tables);
}`;
/** The package files from which AWS SDK clients read their version. */
const CLIENT_PACKAGE = /[\\/]@aws-sdk[\\/]client-[a-z-]+[\\/]package\.json$/;

/** Name of the file with the code that a function's own module shares with its dynamic imports. */
const SHARED = 'shared.mjs';
/** Maximum size, in bytes, of a chunk that is put into the shared file although it is not loaded at the start. */
const SMALL_BYTES = 8_000;

function slim({
  makesJsonSchemas,
  usesPostgres,
}: Required<Pick<Bundled, 'makesJsonSchemas' | 'usesPostgres'>>): Plugin {
  return {
    name: 'slim',
    setup: (bundle) => {
      if (!makesJsonSchemas)
        bundle.onLoad({ filter: JSON_SCHEMAS }, ({ path }) => ({ contents: stubModule(path), loader: 'js' }));
      bundle.onLoad({ filter: TYPESCRIPT }, ({ path }) => {
        if (!path.startsWith(LAMBDAS)) return undefined;
        if (path === AUTHORITY && !usesPostgres) return { contents: ONLY_DYNAMODB, loader: 'ts' };
        const contents = withoutPart(readFileSync(path, 'utf8'), makesJsonSchemas ? 'handle' : 'docs');
        return { contents, loader: 'ts' };
      });
      bundle.onLoad({ filter: CLIENT_PACKAGE }, ({ path }) => {
        const { version } = JSON.parse(readFileSync(path, 'utf8')) as { readonly version: string };
        return { contents: JSON.stringify({ version }), loader: 'json' };
      });
    },
  };
}

/** Each export throws when it is used. */
function stubModule(path: string): string {
  const names = [...readFileSync(path, 'utf8').matchAll(/^export (?:const|function) (\w+)/gm)].map(([, name]) => name);
  const unused = "const unused = () => () => { throw new Error('this function is bundled without JSON schemas'); };";
  return [unused, ...names.map((name) => `export const ${name} = unused;`)].join('\n');
}

/**
 * Bundles a function and its dynamic imports, with one file for the code that they share. In a single pass, esbuild
 * would write many such files: one for each combination of modules that share code. The payments function would read 14
 * files at its start, and each file costs CPU time. Therefore, esbuild bundles its own output a second time. The shared
 * file contains all chunks that the start needs, and all small chunks. The function's own module stays a separate file:
 * its top-level `await` waits for dynamic imports, which themselves import the shared file.
 */
async function buildWithSharedFile(options: BuildOptions): Promise<void> {
  const { metafile, outputFiles } = await build({ ...options, write: false, metafile: true, sourcemap: 'inline' });
  const texts = new Map(outputFiles.map((file) => [basename(file.path), file.text]));
  const outputs = new Map(Object.entries(metafile.outputs).map(([path, output]) => [basename(path), output]));
  const imports = (file: string): readonly string[] =>
    (outputs.get(file)?.imports ?? []).flatMap(({ path, kind, external }) =>
      kind === 'import-statement' && external !== true ? [basename(path)] : [],
    );
  const isChunk = (file: string): boolean => outputs.has(file) && outputs.get(file)?.entryPoint === undefined;
  const atStart = new Set(['index.mjs']);
  for (const file of atStart) for (const imported of imports(file)) atStart.add(imported);
  let shared = [...outputs.keys()]
    .filter((file) => isChunk(file) && (atStart.has(file) || sizeOf(outputs.get(file)) <= SMALL_BYTES))
    .toSorted();
  const isShared = (file: string): boolean => shared.includes(file);
  // A small chunk stays outside the shared file if it imports a chunk that is outside.
  for (let before = NaN; before !== shared.length; ) {
    before = shared.length;
    shared = shared.filter((file) => atStart.has(file) || imports(file).every(isShared));
  }
  /** Returns the exports of a chunk, each under a unique name in the shared file. */
  const exportsOf = (file: string, turned: (own: string, name: string) => string): string =>
    (outputs.get(file)?.exports ?? []).map((name) => turned(name, `${name}_${shared.indexOf(file)}`)).join();
  await build({
    ...options,
    splitting: false,
    entryPoints: [SHARED, ...[...outputs.keys()].filter((file) => !isShared(file))].map((file) => ({
      in: file,
      out: basename(file, '.mjs'),
    })),
    plugins: [
      {
        name: 'shared-file',
        setup: (bundle) => {
          bundle.onResolve({ filter: /^/ }, ({ path, importer, kind }) => {
            const file = basename(path);
            if (kind !== 'entry-point' && !isShared(file)) return { path, external: true };
            const isInside = kind === 'entry-point' || importer === SHARED || isShared(importer);
            return { path: file, namespace: isInside ? 'chunk' : 'shared' };
          });
          bundle.onLoad({ filter: /^/, namespace: 'chunk' }, ({ path }) => ({
            contents:
              texts.get(path) ??
              shared
                .map((file) => `export{${exportsOf(file, (own, name) => `${own} as ${name}`)}}from"./${file}";`)
                .join('\n'),
          }));
          bundle.onLoad({ filter: /^/, namespace: 'shared' }, ({ path }) => ({
            contents: `export{${exportsOf(path, (own, name) => `${name} as ${own}`)}}from"./${SHARED}";`,
          }));
        },
      },
    ],
  });
}

/** Returns the code size of an output, in bytes. The file size is larger: it includes esbuild's source map. */
function sizeOf(output: Metafile['outputs'][string] | undefined): number {
  return Object.values(output?.inputs ?? {}).reduce((sum, { bytesInOutput }) => sum + bytesInOutput, 0);
}

const asked = JSON.parse(await text(process.stdin)) as readonly Bundled[];
try {
  for (const { makesJsonSchemas = false, usesPostgres = false, ...options } of asked)
    await (options.splitting === true ? buildWithSharedFile : build)({
      ...options,
      // Removes imports that are used only by the code that `slim` removes.
      tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: false } },
      plugins: [slim({ makesJsonSchemas, usesPostgres })],
    });
} catch (error) {
  // esbuild has already printed the errors.
  process.exitCode = 1;
  if (!(error instanceof Error && 'errors' in error)) throw error;
}
