import { writeEntries } from './test/run/entries.ts';

writeEntries();

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
  // Kept between runs: `npm ci` empties node_modules.
  cacheDirectory: '<rootDir>/.payonce/cache/jest',
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
};

/**
 * `unit` needs only Node. Each of the other two starts its own local AWS with the stacks deployed on it, and so does each shard of them,
 * so that all can run at the same time. `stores` tests the stores on tables and queues of its own, and starts and stops a local AWS as `npm start` does.
 * `deployed` calls the deployed functions, kills them, and waits for their effects.
 */
const config = {
  // Only ends a test that hangs, on a machine of any speed.
  testTimeout: 900_000,
  // Jest keeps every suite's modules alive. A worker that holds more than this is replaced before garbage collection slows it.
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
      displayName: 'stores',
      testMatch: ['<rootDir>/test/**/*.stores.test.ts'],
    },
    {
      ...common,
      displayName: 'deployed',
      testMatch: ['<rootDir>/test/**/*.deployed.test.ts'],
    },
    {
      ...common,
      displayName: 'drills',
      testMatch: ['<rootDir>/test/**/*.drill.test.ts'],
    },
  ],
};

export default config;
