const common = {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: { parser: { syntax: 'typescript' }, target: 'es2024' },
        module: { type: 'es6' },
        sourceMaps: 'inline',
      },
    ],
  },
  modulePathIgnorePatterns: ['<rootDir>/(cdk\\.out|dist|\\.payonce)/'],
};

/** Each of the two starts a local AWS of its own with the stacks deployed on it, so that they can run at the same time. */
const onLocalAws = {
  ...common,
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
};

/**
 * `unit` needs nothing but Node. The other two run at the same time: `stores` computes, on tables and queues of its own and by
 * the thousand; `deployed` calls what is deployed, kills it, and waits for what comes.
 */
const config = {
  reporters: ['default', '<rootDir>/test/support/summary-reporter.js'],
  projects: [
    {
      ...common,
      displayName: 'unit',
      testMatch: ['<rootDir>/test/**/*.test.ts'],
      testPathIgnorePatterns: ['\\.(stores|deployed)\\.test\\.ts$'],
    },
    {
      ...onLocalAws,
      displayName: 'stores',
      testMatch: ['<rootDir>/test/**/*.stores.test.ts'],
    },
    {
      ...onLocalAws,
      displayName: 'deployed',
      testMatch: ['<rootDir>/test/**/*.deployed.test.ts'],
    },
  ],
};

export default config;
