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

/** `unit` needs nothing but Node; `aws` starts its own local AWS with the stacks deployed on it. */
const config = {
  reporters: ['default', '<rootDir>/test/support/summary-reporter.js'],
  projects: [
    {
      ...common,
      displayName: 'unit',
      testMatch: [
        '<rootDir>/test/{core,app,runtime,handlers,lib,demo,docs,local,simulation}/**/*.test.ts',
        '<rootDir>/test/canary.test.ts',
      ],
    },
    {
      ...common,
      displayName: 'aws',
      globalSetup: '<rootDir>/test/support/global-setup.ts',
      globalTeardown: '<rootDir>/test/support/global-teardown.ts',
      testMatch: ['<rootDir>/test/{adapters,features,interleavings,e2e,powertools,bench}/**/*.test.ts'],
    },
  ],
};

export default config;
