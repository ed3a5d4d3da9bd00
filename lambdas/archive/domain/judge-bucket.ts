export interface BucketStatement {
  readonly effect: 'Allow' | 'Deny';
  /** Whether the statement applies to every principal. */
  readonly isForAll: boolean;
  readonly actions: readonly string[];
  readonly resources: readonly string[];
  /** The condition as JSON. */
  readonly condition?: string;
}

/** `elsewhere`: S3 returns the setting only to the account that owns the bucket. */
export type Fact<Value> =
  | { readonly kind: 'read'; readonly value: Value }
  | { readonly kind: 'refused'; readonly because: string }
  | { readonly kind: 'elsewhere' };

/** The default object lock of new objects. */
export interface Lock {
  readonly mode: 'governance' | 'compliance';
  readonly days: number;
}

export interface BucketFacts {
  readonly keepsVersions: Fact<boolean>;
  readonly lock: Fact<Lock | undefined>;
  readonly policy: Fact<readonly BucketStatement[]>;
  /** Whether all four settings that block public access are enabled. */
  readonly isPrivate: Fact<boolean>;
  /** The ids of lifecycle rules that remove objects or versions. */
  readonly removingRules: Fact<readonly string[]>;
}

export interface BucketFinding {
  readonly kind: 'bucket';
  readonly what: 'versions' | 'lock' | 'policy' | 'public_access' | 'lifecycle';
  readonly because: string;
}

/** Actions that must be denied to every principal, without a condition. */
const REMOVALS = ['s3:DeleteObject', 's3:DeleteObjectVersion', 's3:BypassGovernanceRetention'];
const WRITE = 's3:PutObject';
/**
 * Conditions that match when the header `If-None-Match` is absent (Amazon S3 user guide, "Enforce conditional writes on
 * Amazon S3 buckets").
 */
const NOT_CONDITIONAL = new Set(['{"Null":{"s3:if-none-match":"true"}}', '{"Null":{"s3:if-none-match":true}}']);

/**
 * Lists the settings of the archive's bucket that allow objects to be changed or removed, and those that S3 refused to
 * return.
 *
 * @param demanded the weakest object lock that is accepted
 */
export function judgeBucket(
  bucket: string,
  facts: BucketFacts,
  demanded: Lock = { mode: 'governance', days: 1 },
): readonly BucketFinding[] {
  const judge = <Value>(
    what: BucketFinding['what'],
    fact: Fact<Value>,
    faultsOf: (value: Value) => readonly string[],
  ): readonly BucketFinding[] => {
    if (fact.kind === 'elsewhere') return [];
    const faults = fact.kind === 'refused' ? [`it cannot be read: ${fact.because}`] : faultsOf(fact.value);
    return faults.map((because) => ({ kind: 'bucket', what, because }));
  };
  return [
    ...judge('versions', facts.keepsVersions, (keeps) => (keeps ? [] : ['the bucket keeps no versions'])),
    ...judge('lock', facts.lock, (lock) => lockFaults(lock, demanded)),
    ...judge('policy', facts.policy, (statements) => policyFaults(bucket, statements)),
    ...judge('public_access', facts.isPrivate, (isPrivate) => (isPrivate ? [] : ['public access is not blocked'])),
    ...judge('lifecycle', facts.removingRules, (ids) => ids.map((id) => `the lifecycle rule ${id} removes objects`)),
  ];
}

function lockFaults(lock: Lock | undefined, demanded: Lock): readonly string[] {
  if (lock === undefined) return ['new objects are not locked'];
  const faults: string[] = [];
  if (demanded.mode === 'compliance' && lock.mode !== 'compliance')
    faults.push('the mode is governance, but compliance is required');
  if (lock.days < demanded.days) faults.push(`objects are locked for ${lock.days} days instead of ${demanded.days}`);
  return faults;
}

/** ARNs that match all objects of a bucket, in any partition of AWS. */
const OBJECTS = /^arn:[a-z-]+:s3:::([a-z0-9.-]+)\/\*$/;

function policyFaults(bucket: string, statements: readonly BucketStatement[]): readonly string[] {
  const isDenied = (action: string, isCondition: (condition: string | undefined) => boolean): boolean =>
    statements.some(
      ({ effect, isForAll, actions, resources, condition }) =>
        effect === 'Deny' &&
        isForAll &&
        (actions.includes(action) || actions.includes('s3:*')) &&
        resources.some((resource) => OBJECTS.exec(resource)?.[1] === bucket) &&
        isCondition(condition),
    );
  return [
    ...REMOVALS.filter((action) => !isDenied(action, (condition) => condition === undefined)).map(
      (action) => `no statement denies ${action} to every principal`,
    ),
    ...(isDenied(WRITE, (condition) => condition !== undefined && NOT_CONDITIONAL.has(condition))
      ? []
      : [`no statement denies ${WRITE} without If-None-Match to every principal`]),
    ...(isDenied(WRITE, (condition) => /"aws:SecureTransport":"?false"?/.test(condition ?? ''))
      ? []
      : ['no statement denies requests without TLS']),
    ...statements
      .filter(({ effect, isForAll, condition }) => effect === 'Allow' && isForAll && condition === undefined)
      .map(({ actions }) => `a statement allows ${actions.join(', ')} to every principal`),
  ];
}
