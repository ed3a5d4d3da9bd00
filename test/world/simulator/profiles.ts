/** What can be switched on and off for a history. Rare pairs meet because each history has only some of them. */
export const FEATURES = [
  // Clients and merchants.
  'declines',
  'silence',
  'actions',
  'holds',
  'async',
  'retries',
  'changed_bodies',
  'copies',
  'references',
  'refunds',
  'many_refunds',
  'looks',
  'orders',
  'follow_ups',
  'endpoints',
  // Payers, banks, and users of the processor's dashboard.
  'late_success',
  'disputes',
  'refund_failures',
  'dashboard',
  'strays',
  'wrong_amounts',
  'contradictions',
  'floods',
  // Callbacks.
  'lost_callbacks',
  'doubled_callbacks',
  'late_callbacks',
  // Outages.
  'processor_outages',
  'party_outages',
  'endpoint_outages',
  // Faults at the gates.
  'crashes',
  'throttles',
  'conflicts',
  'doubt',
  'slowness',
  'skew',
  'storms',
  // Operation.
  'second_processor',
  'deploys',
  'cron',
  'jobs',
  'redrives',
  'replays',
  'rebuilds',
  'erasures',
  'modes',
  'approvals',
  'mail_cap',
  'decisions',
  'corrections',
  // Acts in an order that is rarely drawn.
  'courses',
  // Payments that events ask for.
  'requests',
] as const;

export type Feature = (typeof FEATURES)[number];

export interface Profile {
  /** The number of payments, orders and endpoints. */
  readonly subjects: readonly [least: number, most: number];
  /** The number of acts about each of them. */
  readonly acts: readonly [least: number, most: number];
  /** How likely each feature is switched on. @default `RARELY`, then `otherwise` */
  readonly features: Readonly<Partial<Record<Feature, number>>>;
  readonly otherwise: number;
}

/** Features that make a history expensive. */
const RARELY: Readonly<Partial<Record<Feature, number>>> = {
  floods: 0.05,
  cron: 0.05,
  storms: 0.05,
  modes: 0.15,
  courses: 0,
  requests: 0,
};

const CALLBACK_TROUBLE = { lost_callbacks: 0.5, doubled_callbacks: 0.4, late_callbacks: 0.5 } as const;
const MACHINE_TROUBLE = {
  crashes: 0.5,
  throttles: 0.3,
  conflicts: 0.3,
  doubt: 0.5,
  slowness: 0.3,
  skew: 0.3,
} as const;

export const PROFILES = {
  calm: {
    subjects: [1, 4],
    acts: [0, 4],
    features: {
      refunds: 0.8,
      holds: 0.5,
      actions: 0.5,
      async: 0.5,
      orders: 0.4,
      follow_ups: 0.3,
      looks: 0.5,
      floods: 0,
      cron: 0,
      storms: 0,
    },
    otherwise: 0,
  },
  clients: {
    subjects: [1, 4],
    acts: [1, 6],
    features: {
      declines: 0.5,
      silence: 0.5,
      actions: 0.4,
      holds: 0.5,
      async: 0.4,
      retries: 0.9,
      changed_bodies: 0.5,
      copies: 0.6,
      references: 0.5,
      refunds: 0.8,
      many_refunds: 0.3,
      looks: 0.5,
      ...MACHINE_TROUBLE,
    },
    otherwise: 0.1,
  },
  bank: {
    subjects: [1, 3],
    acts: [2, 8],
    features: {
      ...CALLBACK_TROUBLE,
      declines: 0.3,
      holds: 0.4,
      async: 0.6,
      refunds: 0.7,
      late_success: 0.7,
      disputes: 0.6,
      refund_failures: 0.7,
      dashboard: 0.6,
      strays: 0.5,
      wrong_amounts: 0.4,
      contradictions: 0.15,
      orders: 0.2,
    },
    otherwise: 0.1,
  },
  disputes: {
    subjects: [1, 3],
    acts: [2, 7],
    features: {
      ...CALLBACK_TROUBLE,
      disputes: 1,
      refunds: 0.8,
      late_success: 0.6,
      refund_failures: 0.5,
      crashes: 0.4,
      doubt: 0.4,
      silence: 0.5,
    },
    otherwise: 0.15,
  },
  crashes: {
    subjects: [1, 3],
    acts: [1, 6],
    features: {
      ...CALLBACK_TROUBLE,
      ...MACHINE_TROUBLE,
      crashes: 1,
      doubt: 0.8,
      silence: 0.5,
      refunds: 0.8,
      retries: 0.6,
      disputes: 0.5,
    },
    otherwise: 0.2,
  },
  orders: {
    subjects: [1, 3],
    acts: [1, 7],
    features: {
      storms: 0.3,
      ...CALLBACK_TROUBLE,
      ...MACHINE_TROUBLE,
      orders: 1,
      mail_cap: 0.4,
      follow_ups: 0.5,
      party_outages: 0.7,
      refunds: 0.7,
      disputes: 0.6,
      refund_failures: 0.6,
      redrives: 0.5,
      retries: 0.5,
      silence: 0.4,
    },
    otherwise: 0.15,
  },
  operators: {
    subjects: [1, 3],
    acts: [2, 7],
    features: {
      approvals: 0.5,
      storms: 0.3,
      refund_failures: 0.4,
      contradictions: 0.3,
      ...CALLBACK_TROUBLE,
      decisions: 1,
      refunds: 0.6,
      holds: 0.4,
      corrections: 0.4,
      wrong_amounts: 0.8,
      strays: 0.5,
      dashboard: 0.5,
      silence: 0.6,
      second_processor: 0.5,
      processor_outages: 0.5,
      jobs: 0.6,
      redrives: 0.5,
      rebuilds: 0.3,
      erasures: 0.4,
    },
    otherwise: 0.2,
  },
  outage: {
    subjects: [1, 4],
    acts: [1, 6],
    features: {
      storms: 0.4,
      ...CALLBACK_TROUBLE,
      ...MACHINE_TROUBLE,
      processor_outages: 0.9,
      party_outages: 0.6,
      endpoint_outages: 0.4,
      second_processor: 0.6,
      silence: 0.5,
      refunds: 0.6,
      retries: 0.5,
      orders: 0.4,
    },
    otherwise: 0.15,
  },
  deploys: {
    subjects: [1, 4],
    acts: [1, 6],
    features: {
      ...CALLBACK_TROUBLE,
      deploys: 1,
      second_processor: 1,
      crashes: 0.6,
      retries: 0.7,
      processor_outages: 0.5,
      refunds: 0.6,
      holds: 0.4,
      silence: 0.5,
      doubt: 0.4,
    },
    otherwise: 0.15,
  },
  webhooks: {
    subjects: [2, 5],
    acts: [1, 5],
    features: {
      storms: 0.4,
      ...MACHINE_TROUBLE,
      endpoints: 1,
      endpoint_outages: 0.7,
      replays: 0.6,
      redrives: 0.4,
      refunds: 0.6,
      erasures: 0.3,
    },
    otherwise: 0.15,
  },
  floods: {
    subjects: [1, 1],
    acts: [1, 4],
    features: {
      floods: 1,
      refunds: 0.7,
      disputes: 0.6,
      silence: 0.6,
      late_success: 0.5,
      refund_failures: 0.4,
      lost_callbacks: 0.4,
    },
    otherwise: 0.05,
  },
  states: {
    subjects: [1, 3],
    acts: [3, 9],
    features: {
      ...CALLBACK_TROUBLE,
      actions: 0.6,
      holds: 0.6,
      async: 0.7,
      silence: 0.4,
      refunds: 0.6,
      late_success: 0.4,
      disputes: 0.3,
      refund_failures: 0.5,
      dashboard: 0.6,
      strays: 0.9,
      wrong_amounts: 0.6,
      contradictions: 0.7,
      decisions: 0.8,
      floods: 0,
      storms: 0,
    },
    otherwise: 0.1,
  },
  modes: {
    subjects: [2, 5],
    acts: [1, 5],
    features: {
      ...CALLBACK_TROUBLE,
      modes: 1,
      retries: 0.7,
      references: 0.4,
      looks: 0.6,
      refunds: 0.7,
      holds: 0.4,
      async: 0.4,
      strays: 0.7,
      disputes: 0.4,
      endpoints: 0.5,
      late_success: 0.4,
      silence: 0.4,
      second_processor: 0.6,
      decisions: 0.3,
      crashes: 0.3,
    },
    otherwise: 0.15,
  },
  courses: {
    subjects: [1, 3],
    acts: [0, 3],
    features: { ...CALLBACK_TROUBLE, courses: 1, approvals: 0.5, orders: 0.6, floods: 0, storms: 0, crashes: 0.2 },
    otherwise: 0.15,
  },
  requests: {
    subjects: [1, 4],
    acts: [0, 3],
    features: {
      ...CALLBACK_TROUBLE,
      ...MACHINE_TROUBLE,
      requests: 1,
      declines: 0.3,
      silence: 0.5,
      processor_outages: 0.5,
      storms: 0.6,
      redrives: 0.4,
      refunds: 0.4,
    },
    otherwise: 0.1,
  },
  everything: { subjects: [1, 5], acts: [1, 9], features: { cron: 0.2, storms: 0.2 }, otherwise: 0.35 },
} as const satisfies Readonly<Record<string, Profile>>;

export type ProfileName = keyof typeof PROFILES;

/** How likely a history of the profile has the feature. */
export function chanceOf({ features, otherwise }: Profile, feature: Feature): number {
  return features[feature] ?? RARELY[feature] ?? otherwise;
}

/** @throws Error naming the profiles when there is none of that name */
export function profileNamed(name: string): Profile {
  const profile = Object.entries(PROFILES).find(([known]) => known === name)?.[1];
  if (profile !== undefined) return profile;
  throw new Error(`There is no profile ${name}. Use one of ${Object.keys(PROFILES).join(', ')}.`);
}
