/**
 * Who may import whom. The tree shows when code runs: `lib` and `bin` at synth, `lambdas` inside Lambda;
 * `lambdas/contract` is the only bridge.
 */
const only = (name, from, allowed) => ({
  name,
  severity: 'error',
  from: { path: from },
  to: { pathNot: allowed },
});

const packages = (...names) => names.map((name) => `^node_modules/${name}(/|$)`);

module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    { name: 'no-orphan-resolution', severity: 'error', from: {}, to: { couldNotResolve: true } },
    only('contract-imports-nothing', '^lambdas/contract/', ['^lambdas/contract/']),
    only('core-is-pure', '^lambdas/core/', ['^lambdas/(core|contract)/']),
    only('app-sees-ports-and-core', '^lambdas/app/', ['^lambdas/(app|core|contract)/']),
    {
      name: 'adapters-see-ports-not-use-cases',
      severity: 'error',
      from: { path: '^lambdas/adapters/' },
      to: { path: '^lambdas/', pathNot: ['^lambdas/(adapters|core|contract|runtime)/', '^lambdas/app/ports/'] },
    },
    {
      name: 'runtime-sees-core-only',
      severity: 'error',
      from: { path: '^lambdas/runtime/' },
      to: { path: '^lambdas/', pathNot: ['^lambdas/(runtime|core|contract)/'] },
    },
    {
      name: 'functions-are-strangers',
      severity: 'error',
      from: { path: '^lambdas/([^/]+)/', pathNot: '^lambdas/(contract|core|app|adapters|runtime)/' },
      to: { path: '^lambdas/', pathNot: ['^lambdas/$1/', '^lambdas/(contract|core|app|adapters|runtime)/'] },
    },
    {
      name: 'layers-do-not-see-functions',
      severity: 'error',
      from: { path: '^lambdas/(contract|core|app|adapters|runtime)/' },
      to: { path: '^lambdas/', pathNot: ['^lambdas/(contract|core|app|adapters|runtime)/'] },
    },
    {
      name: 'run-time-never-sees-synth-time',
      severity: 'error',
      from: { path: '^lambdas/' },
      to: { path: ['^(bin|lib|local|operator|test|bench|demo)/', ...packages('aws-cdk-lib', 'constructs', 'cdk-nag')] },
    },
    {
      name: 'synth-time-sees-only-the-contract',
      severity: 'error',
      from: { path: '^(bin|lib)/' },
      to: {
        path: '^(lambdas|local|operator|test|bench|demo)/',
        // What a schedule means is read in one place, or the check at synth would be of something else than what is shown.
        pathNot: ['^lambdas/contract/', '^lambdas/.*/openapi\\.ts$', '^lambdas/adapters/system/schedules\\.ts$'],
      },
    },
    {
      name: 'nobody-imports-tests',
      severity: 'error',
      from: { pathNot: '^(test|bench|demo)/' },
      to: { path: '^(test|bench|demo)/' },
    },
    {
      name: 'functions-of-the-demo-are-functions',
      severity: 'error',
      from: { path: '^demo/functions/' },
      to: { path: ['^(bin|lib|local|operator|test|bench)/', ...packages('aws-cdk-lib', 'constructs')] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(cdk\\.out|dist)/' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: { conditionNames: ['import', 'node', 'default'], exportsFields: ['exports'] },
  },
};
