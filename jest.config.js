import { writeEntries } from './test/run/entries.ts';

writeEntries();
/**
 * Whether generated entries (test/run/entries.ts) load the files of `contract`, `stores` and `deployed`. Otherwise,
 * each file is a separate test file, and can be named on the command line.
 */
const together = process.env['PAYONCE_TOGETHER'] === '1';

const common = {
  testEnvironment: '<rootDir>/test/support/global-environment.ts',
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: { parser: { syntax: 'typescript' }, target: 'es2024', experimental: { keepImportAttributes: true } },
        module: { type: 'es6' },
        sourceMaps: 'inline',
      },
    ],
  },
  modulePathIgnorePatterns: ['<rootDir>/(cdk\\.out|dist|\\.payonce)/'],
  // Not in node_modules, which `npm ci` empties: the cache is kept between runs.
  cacheDirectory: '<rootDir>/.payonce/cache/jest',
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
};

/**
 * `unit` has each test file that needs only Node, and `rooms` has the same files, grouped by room. `contract` runs
 * tests with PostgreSQL as the authority: in `npm run test:contract`, those of the HTTP API, grouped by room;
 * otherwise, any file of `unit` that is named. `stores` starts an emulator with the tables of the templates. `deployed`
 * and `drills` each start a local AWS with the stacks: they call the deployed functions, kill them, and wait for their
 * effects. `stores`, `deployed` and `drills` each need a separate run of Jest. These runs can be concurrent.
 */
const config = {
  // Ends only a test that hangs, even on a slow machine. A drill of `npm run prove` deploys up to five times while other
  // tests use both cores.
  testTimeout: process.env['PAYONCE_PROVE'] === '1' ? 3_600_000 : 900_000,
  // Jest keeps every suite's modules alive. A worker that uses more memory than this is replaced, because garbage
  // collection would slow it down.
  workerIdleMemoryLimit: '600MB',
  reporters: ['default', '<rootDir>/test/support/summary-reporter.js'],
  testSequencer: '<rootDir>/test/run/heaviest-first.js',
  projects: [
    {
      ...common,
      displayName: 'unit',
      testMatch: ['<rootDir>/test/**/*.test.ts'],
      testPathIgnorePatterns: ['\\.(stores|deployed|drill)\\.test\\.ts$'],
    },
    {
      ...common,
      displayName: 'rooms',
      testMatch: ['<rootDir>/test/entries/*.test.js'],
    },
    {
      ...common,
      displayName: 'contract',
      testMatch: [together ? '<rootDir>/test/entries/contract/*.test.js' : '<rootDir>/test/**/*.test.ts'],
      testPathIgnorePatterns: ['\\.(stores|deployed|drill)\\.test\\.ts$'],
      setupFilesAfterEnv: ['<rootDir>/test/world/on-postgres.ts'],
    },
    {
      ...common,
      displayName: 'stores',
      testMatch: [together ? '<rootDir>/test/entries/local-aws/stores*.test.js' : '<rootDir>/test/**/*.stores.test.ts'],
    },
    {
      ...common,
      displayName: 'deployed',
      testMatch: [
        together ? '<rootDir>/test/entries/local-aws/deployed*.test.js' : '<rootDir>/test/**/*.deployed.test.ts',
      ],
    },
    {
      ...common,
      displayName: 'drills',
      testMatch: ['<rootDir>/test/**/*.drill.test.ts'],
    },
  ],
};

export default config;
