/**
 * Bundles with esbuild: reads a list of options as JSON from standard input. It is a separate process, because a
 * synthesis is synchronous and plugins of esbuild are not.
 */
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { type BuildOptions, build, type Plugin } from 'esbuild';

/** The options of one build. */
export interface Bundled extends BuildOptions {
  /** Whether a function converts zod schemas to JSON schemas. */
  readonly makesJsonSchemas?: boolean;
}

/** The code for JSON schemas, which zod schemas reference but most functions do not use. */
const JSON_SCHEMAS = /[\\/]zod[\\/]v4[\\/]core[\\/](?:json-schema-processors|to-json-schema)\.js$/;
/** The clients of the AWS SDK read their version. */
const CLIENT_PACKAGE = /[\\/]@aws-sdk[\\/]client-[a-z-]+[\\/]package\.json$/;

function slim({ makesJsonSchemas = false }: Pick<Bundled, 'makesJsonSchemas'>): Plugin {
  return {
    name: 'slim',
    setup: (bundle) => {
      if (!makesJsonSchemas)
        bundle.onLoad({ filter: JSON_SCHEMAS }, ({ path }) => ({ contents: stubModule(path), loader: 'js' }));
      bundle.onLoad({ filter: CLIENT_PACKAGE }, ({ path }) => {
        const { version } = JSON.parse(readFileSync(path, 'utf8')) as { readonly version: string };
        return { contents: JSON.stringify({ version }), loader: 'json' };
      });
    },
  };
}

/** A stub module with the same exports, which fails when one of them is used. */
function stubModule(path: string): string {
  const names = [...readFileSync(path, 'utf8').matchAll(/^export (?:const|function) (\w+)/gm)].map(([, name]) => name);
  const unused = "const unused = () => () => { throw new Error('this function is bundled without JSON schemas'); };";
  return [unused, ...names.map((name) => `export const ${name} = unused;`)].join('\n');
}

const asked = JSON.parse(await text(process.stdin)) as readonly Bundled[];
try {
  for (const { makesJsonSchemas = false, ...options } of asked)
    await build({ ...options, plugins: [slim({ makesJsonSchemas })] });
} catch (error) {
  // esbuild has written the errors.
  process.exitCode = 1;
  if (!(error instanceof Error && 'errors' in error)) throw error;
}
