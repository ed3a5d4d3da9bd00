/**
 * Who may import whom. `lambdas/` is divided into rooms, one for each capability. A room imports only rooms above it in ROOMS;
 * inside a room the layers go from `domain` outwards. `lib` and `bin` run at synth and see only the contract of names.
 */
const ROOMS = [
  'kernel',
  'postgres',
  'once',
  'activity',
  'outbound',
  'tenants',
  'http',
  'payments',
  'processors',
  'callbacks',
  'jobs',
  'orders',
  'events',
  'intake',
  'views',
  'exports',
  'webhooks',
  'reconciliation',
  'operators',
  'resolving',
  'follow-ups',
  'archive',
  'services',
  'authority',
  'api-docs',
  'functions',
];

const TOOLS = '^(bin|lib|local|cli|test|bench|demo|bridge|client|console|examples|package)/';
/** Names that synthesis and run time share: tables, rows, metrics, environment variables, jobs. They and synthesis may use `defined`. */
const CONTRACT = ['^lambdas/.+/contract(\\.ts$|/)', '^lambdas/kernel/defined\\.ts$'];
/** Processors' descriptors. Synthesis reads them too, so they load the processors' code only when it is needed. */
const DESCRIPTORS = ['^lambdas/processors/(registry|descriptor)\\.ts$', '^lambdas/processors/[^/]+/descriptor\\.ts$'];
/** The schemas of the protocol of a processor of the operator's own, which `payonce conform` examines. */
const PROTOCOL = ['^lambdas/processors/sandbox/sandbox-(abilities|answers|api|charge)\\.ts$'];
/** The APIs of a processor and of a shop that the sandbox implements. */
const SANDBOX_APIS = ['^lambdas/processors/sandbox/sandbox-api\\.ts$', '^lambdas/orders/parties/shop-api\\.ts$'];
/** Schedules, addresses and currencies are parsed in one place, so that synthesis validates what run time executes. */
const PARSERS = [
  '^lambdas/jobs/schedules\\.ts$',
  '^lambdas/kernel/platform/web-url\\.ts$',
  '^lambdas/kernel/currency\\.ts$',
];
const AWS_PLACES = ['^lambdas/[^/]+/(store|transport|parties)/', '^lambdas/kernel/platform/'];

/** Pure types and decisions. The ids of a room are part of its domain. */
const DOMAIN = ['^lambdas/[^/]+/domain/', '^lambdas/[^/]+/ids\\.ts$'];

const packages = (...names) => names.map((name) => `^node_modules/${name}(/|$)`);

const orderOfRooms = ROOMS.map((room, index) => ({
  name: `${room}-imports-only-rooms-above-it`,
  severity: 'error',
  from: { path: `^lambdas/${room}/` },
  to: { path: '^lambdas/', pathNot: `^lambdas/(${ROOMS.slice(0, index + 1).join('|')})/` },
}));

/** The layers that a layer of any room may not see, in its own room and in all others. */
const layer = (name, hidden) => ({
  name: `${name}-does-not-see-outer-layers`,
  severity: 'error',
  from: { path: `^lambdas/[^/]+/${name}/` },
  to: { path: `^lambdas/[^/]+/(${hidden.join('|')})/` },
});

module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    { name: 'no-orphan-resolution', severity: 'error', from: {}, to: { couldNotResolve: true } },
    ...orderOfRooms,
    {
      name: 'every-file-is-in-a-room',
      severity: 'error',
      from: { path: '^lambdas/', pathNot: `^lambdas/(${ROOMS.join('|')})/` },
      to: {},
    },
    {
      name: 'functions-are-imported-by-nobody',
      severity: 'error',
      from: { path: '^(lambdas|sandbox|lib|bin|local|cli)/' },
      to: { path: '^lambdas/functions/' },
    },
    {
      name: 'functions-get-their-runner-from-idempotently',
      severity: 'error',
      from: { path: '^(lambdas|sandbox|demo)/', pathNot: '^lambdas/once/idempotently\\.ts$' },
      to: { path: '^lambdas/once/idempotent-runner\\.ts$' },
    },
    {
      name: 'domain-imports-domain-and-the-pure-kernel',
      severity: 'error',
      from: { path: DOMAIN },
      to: {
        pathNot: [...DOMAIN, ...CONTRACT, '^lambdas/kernel/[^/]+\\.ts$'],
      },
    },
    {
      name: 'kernel-is-pure-but-for-its-platform',
      severity: 'error',
      from: { path: '^lambdas/kernel/', pathNot: '^lambdas/kernel/platform/' },
      to: { pathNot: ['^lambdas/kernel/[^/]+\\.ts$', '^lambdas/kernel/contract/'] },
    },
    {
      name: 'the-contract-of-names-imports-names',
      severity: 'error',
      from: { path: CONTRACT },
      to: { pathNot: CONTRACT, dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'a-descriptor-loads-code-when-it-is-needed',
      severity: 'error',
      from: { path: DESCRIPTORS },
      to: { pathNot: [...CONTRACT, ...DESCRIPTORS], dependencyTypesNot: ['type-only', 'dynamic-import'] },
    },
    {
      name: 'a-processor-is-seen-through-its-descriptor',
      severity: 'error',
      from: { path: '^(lambdas|lib|local|cli)/', pathNot: '^lambdas/processors/([^/]+)/' },
      to: {
        path: '^lambdas/processors/[^/]+/',
        pathNot: [...CONTRACT, ...DESCRIPTORS, ...PROTOCOL, '^lambdas/processors/signatures/'],
      },
    },
    {
      name: 'a-processor-does-not-see-another',
      severity: 'error',
      from: { path: '^lambdas/processors/([^/]+)/', pathNot: '^lambdas/processors/signatures/' },
      to: {
        path: '^lambdas/processors/[^/]+/',
        pathNot: ['^lambdas/processors/$1/', '^lambdas/processors/signatures/'],
      },
    },
    layer('use', ['store', 'http', 'transport', 'platform']),
    layer('store', ['http']),
    layer('http', ['store', 'transport']),
    {
      name: 'aws-clients-in-stores-and-transports',
      severity: 'error',
      from: { path: '^lambdas/', pathNot: AWS_PLACES },
      to: { path: '^node_modules/@aws-sdk/' },
    },
    {
      name: 'stores-and-compositions-see-postgres',
      severity: 'error',
      from: { path: '^lambdas/', pathNot: '^lambdas/(postgres|authority|functions|[^/]+/store)/' },
      to: { path: '^lambdas/postgres/' },
    },
    {
      name: 'the-postgres-driver-behind-its-module',
      severity: 'error',
      from: { path: '^(lambdas|sandbox|cli|local|package)/', pathNot: '^lambdas/postgres/driver\\.ts$' },
      to: { path: packages('pg') },
    },
    {
      name: 'run-time-never-sees-synth-time',
      severity: 'error',
      from: { path: '^(lambdas|sandbox)/' },
      to: { path: [TOOLS, ...packages('aws-cdk-lib', 'constructs', 'cdk-nag')] },
    },
    {
      name: 'the-product-does-not-see-the-sandbox',
      severity: 'error',
      from: { path: '^lambdas/' },
      to: { path: '^sandbox/' },
    },
    {
      name: 'the-sandbox-sees-kernel-and-once-and-the-apis-it-implements',
      severity: 'error',
      from: { path: '^sandbox/' },
      to: { path: '^lambdas/', pathNot: ['^lambdas/(kernel|once)/', ...SANDBOX_APIS] },
    },
    {
      name: 'the-bridge-sees-kernel-and-contracts',
      severity: 'error',
      from: { path: '^bridge/' },
      to: { path: ['^lambdas/', '^sandbox/', TOOLS], pathNot: ['^bridge/', '^lambdas/kernel/', ...CONTRACT] },
    },
    {
      name: 'the-client-has-no-dependency',
      severity: 'error',
      from: { path: '^client/', pathNot: '^client/file-keys\\.ts$' },
      // `Retry-After` is read in one place.
      to: { pathNot: ['^client/', '^generated/api-types\\.ts$', '^lambdas/kernel/retry-after\\.ts$'] },
    },
    {
      name: 'the-console-sees-the-api-only',
      severity: 'error',
      from: { path: '^console/' },
      to: {
        // Amounts are read and shown in one place.
        pathNot: [
          '^console/',
          '^generated/api-types\\.ts$',
          '^lambdas/kernel/currency\\.ts$',
          ...packages('preact', 'vite', 'oauth4webapi', '@tanstack/query-core'),
        ],
      },
    },
    {
      name: 'only-the-client-s-file-store-sees-node',
      severity: 'error',
      from: { path: '^client/file-keys\\.ts$' },
      to: { pathNot: '^client/', dependencyTypesNot: ['core'] },
    },
    {
      name: 'synth-time-sees-only-the-contract',
      severity: 'error',
      from: { path: '^(bin|lib)/' },
      to: {
        path: '^(lambdas|sandbox|local|cli|test|bench|demo|bridge|client)/',
        pathNot: [...CONTRACT, ...DESCRIPTORS, ...PARSERS],
      },
    },
    {
      name: 'nobody-imports-tests',
      severity: 'error',
      from: { pathNot: '^(test|bench|demo|docs/generate)/' },
      to: { path: '^(test|bench|demo)/' },
    },
    {
      name: 'functions-of-the-demo-are-functions',
      severity: 'error',
      from: { path: '^demo/functions/' },
      to: { path: ['^(bin|lib|local|cli|test|bench)/', ...packages('aws-cdk-lib', 'constructs')] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    // The programs in bench/peers run on packages that are installed for them.
    exclude: { path: '^(cdk\\.out|dist|bench/peers)/' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: { conditionNames: ['import', 'node', 'default'], exportsFields: ['exports'] },
  },
};
