/**
 * Bundles with esbuild: a list of options as JSON on the standard input. It is a process of its own, because a synthesis is
 * synchronous and plugins of esbuild are not.
 */
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { type BuildOptions, build, type Plugin } from 'esbuild';

/** The options of one build. */
export interface Bundled extends BuildOptions {
  /** Whether a function makes JSON schemas of zod's schemas. */
  readonly makesJsonSchemas?: boolean;
}

/** Most functions make no JSON schemas, but zod's schemas refer to their code. */
const JSON_SCHEMAS = /[\\/]zod[\\/]v4[\\/]core[\\/](?:json-schema-processors|to-json-schema)\.js$/;
/** The clients of the AWS SDK read their version. */
const CLIENT_PACKAGE = /[\\/]@aws-sdk[\\/]client-[a-z-]+[\\/]package\.json$/;

function slim({ makesJsonSchemas = false }: Pick<Bundled, 'makesJsonSchemas'>): Plugin {
  return {
    name: 'slim',
    setup: (bundle) => {
      if (!makesJsonSchemas)
        bundle.onLoad({ filter: JSON_SCHEMAS }, ({ path }) => ({ contents: hollow(path), loader: 'js' }));
      bundle.onLoad({ filter: CLIENT_PACKAGE }, ({ path }) => {
        const { version } = JSON.parse(readFileSync(path, 'utf8')) as { readonly version: string };
        return { contents: JSON.stringify({ version }), loader: 'json' };
      });
    },
  };
}

/** A module with the same exports. A call of what one of them makes fails. */
function hollow(path: string): string {
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
