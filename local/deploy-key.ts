import { createHash, type Hash } from 'node:crypto';
import { type Dirent, existsSync, lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, sep } from 'node:path';
import { PROJECT } from './directories.ts';

/**
 * Increment it when unchanged sources must be redeployed, for example because the contents of snapshots have changed.
 */
const FORMAT = 1;
/** All other folders of the project's root, including new ones, are inputs, unless their names begin with a dot. */
const NO_INPUTS: ReadonlySet<string> = new Set([
  'bench',
  'cdk.out',
  'cli',
  'coverage',
  'demo',
  'dist',
  'docs',
  'examples',
  'node_modules',
  'package',
  'test',
]);
/** Matches documents, logs, and the databases of the examples. */
const NO_INPUT_FILE = /\.(md|log|db|db-\w+)$/;
/** npm lists the installed packages in this file. */
const INSTALLED = '.package-lock.json';

/**
 * Two deployments with the same key have the same result.
 *
 * @returns undefined when the hash cannot be computed, because the sources contain a link, or a package is or contains
 * a link to a target outside of the package
 */
export function deployKey(project: string = PROJECT, node: string = process.version): string | undefined {
  const hash = createHash('sha256');
  hash.update(JSON.stringify([FORMAT, node, process.platform, process.arch]));
  const sources = inputFiles(project);
  if (sources === undefined) return undefined;
  for (const path of sources)
    add(
      hash,
      path,
      createHash('sha256')
        .update(readFileSync(join(project, path)))
        .digest('hex'),
    );
  return addPackages(hash, join(project, 'node_modules')) ? hash.digest('hex') : undefined;
}

/** Excludes the packages; undefined when one of the files is a link. */
export function inputFiles(project: string = PROJECT): readonly string[] | undefined {
  const found: string[] = [];
  const isComplete = entriesOf(project)
    .filter((entry) => isInput(entry))
    .every((entry) => collect(project, entry.name, entry, found));
  return isComplete ? found : undefined;
}

function isInput(entry: Dirent): boolean {
  const { name } = entry;
  if (NO_INPUTS.has(name)) return false;
  return entry.isDirectory() ? !name.startsWith('.') : !NO_INPUT_FILE.test(name);
}

/** Returns false when an entry is neither a file nor a folder, for example a link. */
function collect(project: string, path: string, entry: Dirent, found: string[]): boolean {
  if (entry.name === '.DS_Store') return true;
  if (entry.isFile()) found.push(path);
  if (!entry.isDirectory()) return entry.isFile();
  if (entry.name === '__pycache__') return true;
  return entriesOf(join(project, path)).every((each) => collect(project, join(path, each.name), each, found));
}

/**
 * Adds the sizes and times of the files; their contents are too large to be read at each start.
 *
 * @returns false when a package is or contains a link to a target outside of the package, because the target can change
 * unnoticed
 */
function addPackages(hash: Hash, packages: string): boolean {
  const installed = join(packages, INSTALLED);
  add(hash, INSTALLED, existsSync(installed) ? readFileSync(installed, 'utf8') : '');
  // Entries whose names begin with a dot are caches, or folders with links to programs.
  for (const entry of entriesOf(packages).filter(({ name }) => !name.startsWith('.'))) {
    if (entry.isSymbolicLink()) return false;
    if (!entry.isDirectory()) continue;
    const folder = join(packages, entry.name);
    for (const path of readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()) {
      if (path.split(sep).includes('.bin')) continue;
      const found = lstatSync(join(folder, path), { throwIfNoEntry: false });
      if (found?.isSymbolicLink() === true) {
        const target = readlinkSync(join(folder, path));
        const inPackage = relative(folder, join(folder, dirname(path), target));
        if (isAbsolute(target) || inPackage === '' || inPackage.startsWith('..')) return false;
        add(hash, join(entry.name, path), target);
      }
      if (found?.isFile() === true) add(hash, join(entry.name, path), found.size, found.mtimeMs);
    }
  }
  return true;
}

const entriesOf = (directory: string): readonly Dirent[] =>
  readdirSync(directory, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));

/** JSON gives different lists of values different texts. */
function add(hash: Hash, ...values: readonly (string | number)[]): void {
  hash.update(`${JSON.stringify(values)}\n`);
}
