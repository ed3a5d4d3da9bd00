/**
 * Bundles with esbuild: reads a list of options as JSON from standard input. The bundler is a separate process, because
 * CDK synthesis is synchronous and esbuild plugins are asynchronous.
 */
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { type BuildOptions, build, type Plugin } from 'esbuild';
import { withoutPart } from './endpoint-parts.ts';

/** The options of one bundle. */
export interface Bundled extends BuildOptions {
  /**
   * Whether a function converts zod schemas to JSON schemas.
   * @default false
   */
  readonly makesJsonSchemas?: boolean;
}

/** The modules that generate JSON schemas. Zod schemas reference them, but most functions do not use them. */
const JSON_SCHEMAS = /[\\/]zod[\\/]v4[\\/]core[\\/](?:json-schema-processors|to-json-schema)\.js$/;
const OWN_CODE = /[\\/]lambdas[\\/].+\.ts$/;
/** The package files from which AWS SDK clients read their version. */
const CLIENT_PACKAGE = /[\\/]@aws-sdk[\\/]client-[a-z-]+[\\/]package\.json$/;

function slim({ makesJsonSchemas = false }: Pick<Bundled, 'makesJsonSchemas'>): Plugin {
  return {
    name: 'slim',
    setup: (bundle) => {
      if (!makesJsonSchemas)
        bundle.onLoad({ filter: JSON_SCHEMAS }, ({ path }) => ({ contents: stubModule(path), loader: 'js' }));
      bundle.onLoad({ filter: OWN_CODE }, ({ path }) => ({
        contents: withoutPart(readFileSync(path, 'utf8'), makesJsonSchemas ? 'handle' : 'docs'),
        loader: 'ts',
      }));
      bundle.onLoad({ filter: CLIENT_PACKAGE }, ({ path }) => {
        const { version } = JSON.parse(readFileSync(path, 'utf8')) as { readonly version: string };
        return { contents: JSON.stringify({ version }), loader: 'json' };
      });
    },
  };
}

/** Returns a stub module with the same exports, which throw when they are used. */
function stubModule(path: string): string {
  const names = [...readFileSync(path, 'utf8').matchAll(/^export (?:const|function) (\w+)/gm)].map(([, name]) => name);
  const unused = "const unused = () => () => { throw new Error('this function is bundled without JSON schemas'); };";
  return [unused, ...names.map((name) => `export const ${name} = unused;`)].join('\n');
}

const asked = JSON.parse(await text(process.stdin)) as readonly Bundled[];
try {
  for (const { makesJsonSchemas = false, ...options } of asked)
    await build({
      ...options,
      // Imports of removed parts are removed, too.
      tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: false } },
      plugins: [slim({ makesJsonSchemas })],
    });
} catch (error) {
  // esbuild has already printed the errors.
  process.exitCode = 1;
  if (!(error instanceof Error && 'errors' in error)) throw error;
}
