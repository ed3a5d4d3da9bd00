import { readFileSync } from 'node:fs';
import { isAllowedLicence } from '../../package/licences.ts';

export interface Locked {
  readonly version?: string;
  readonly license?: string;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly optional?: boolean;
}

/** Development packages whose files are deployed: Swagger UI, for the pages of the API documentation. */
const COPIED = ['node_modules/swagger-ui-dist'];

const FOLDER = 'node_modules/';

export function shipped(packages: Readonly<Record<string, Locked>>): readonly (readonly [string, Locked])[] {
  return Object.entries(packages).filter(
    ([path, { dev, devOptional, optional }]) =>
      path.startsWith(FOLDER) &&
      (COPIED.includes(path) || !(dev === true || devOptional === true || optional === true)),
  );
}

/** @returns a sentence for each package that must not be shipped */
export function licenceFaults(packages: Readonly<Record<string, Locked>>): readonly string[] {
  return shipped(packages).flatMap(([path, { license = 'no licence' }]) =>
    isAllowedLicence(license) ? [] : [`${nameOf(path)} has ${license}; package/licences.ts lists the allowed licences`],
  );
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf(FOLDER) + FOLDER.length);
}

export function thirdPartyPage(packages: Readonly<Record<string, Locked>> = lockedPackages()): string {
  const rows = shipped(packages)
    .map(([path, { version = '', license = '' }]) => `| ${nameOf(path)} | ${version} | ${license} |`)
    .toSorted();
  return `# Third-party packages

The code of these packages is in the functions and the bridge that are deployed. The client has none. Their licences ask for no more than a notice: a
package with another licence, or with none, fails \`test/docs/third-party\`. Packages for development are not deployed, and neither is Node 24, which \`npm ci\` installs as an optional package.
The [package](../../docs/start/your-own-cdk-app.md) also contains those that the command line needs; \`npm run package\` writes the licences of all these packages into the package's file \`THIRD-PARTY-LICENSES\`, and fails if one of them has no licence or one that \`package/licences.ts\` does not allow.

The table is generated from package-lock.json by \`npm run generate\`.

| package | version | licence |
|---|---|---|
${[...new Set(rows)].join('\n')}
`;
}

export function lockedPackages(): Readonly<Record<string, Locked>> {
  const lock = JSON.parse(readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8')) as {
    readonly packages: Readonly<Record<string, Locked>>;
  };
  return lock.packages;
}
