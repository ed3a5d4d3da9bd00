/**
 * Plants the fault that `PAYONCE_MUTANT` names, before this process loads the modules that the fault changes:
 *
 *     PAYONCE_MUTANT=owner-not-fenced node --import ./test/world/mutants/apply-mutant.ts …
 */
import { registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';
import { filesOf, MUTANTS, mutated } from './mutants.ts';

const name = process.env['PAYONCE_MUTANT'];
const mutant = MUTANTS.find((each) => each.name === name);
if (mutant === undefined) throw new Error(`unknown mutant: ${name}`);

const root = new URL('../../../', import.meta.url);
const files = new Map(filesOf(mutant).map((file) => [new URL(file, pathToFileURL(root.pathname)).href, file]));

registerHooks({
  load(url, context, next) {
    const loaded = next(url, context);
    const file = files.get(url);
    if (file === undefined || loaded.source === undefined || loaded.source === null) return loaded;
    const { source } = loaded;
    const text = typeof source === 'string' ? source : new TextDecoder().decode(source);
    return { ...loaded, source: mutated(mutant, file, text) };
  },
});
