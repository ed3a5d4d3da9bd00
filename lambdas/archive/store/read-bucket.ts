import {
  GetBucketLifecycleConfigurationCommand,
  GetBucketPolicyCommand,
  GetBucketVersioningCommand,
  GetObjectLockConfigurationCommand,
  GetPublicAccessBlockCommand,
  type LifecycleRule,
  ListObjectVersionsCommand,
  type S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import * as z from 'zod';
import { LINES_PREFIX } from '../domain/archive-object.ts';
import type { BucketFacts, BucketStatement, Fact, Lock } from '../domain/judge-bucket.ts';
import type { Bounds } from '../domain/judge-chain.ts';
import { MANIFESTS_PREFIX } from '../domain/manifest.ts';
import { beginOf, continueAfter } from '../domain/object-times.ts';

/**
 * A key in the archive that has more than one version, or whose object was removed. An ordinary S3 listing shows only
 * the newest version.
 */
export interface ReplacedObject {
  readonly kind: 'object_versions';
  readonly object: string;
  readonly versions: number;
  /** Whether a delete marker hides the versions. */
  readonly isRemoved: boolean;
}

const several = z.union([z.string(), z.array(z.string())]).transform((one) => [one].flat());
const bucketPolicy = z.object({
  Statement: z.array(
    z.object({
      Effect: z.enum(['Allow', 'Deny']),
      Principal: z.union([z.literal('*'), z.record(z.string(), several)]).optional(),
      Action: several.optional(),
      Resource: several.optional(),
      Condition: z.unknown().optional(),
    }),
  ),
});

/** If S3 refuses to return a setting, its fact is `refused`, and the other settings are still read. */
export async function readBucket(client: S3Client, Bucket: string): Promise<BucketFacts> {
  const [keepsVersions, lock, policy, isPrivate, removingRules] = await Promise.all([
    asked(async () => (await client.send(new GetBucketVersioningCommand({ Bucket }))).Status === 'Enabled'),
    asked<Lock | undefined>(async () => {
      const { ObjectLockConfiguration } = await client.send(new GetObjectLockConfigurationCommand({ Bucket }));
      const { Mode, Days = 0, Years = 0 } = ObjectLockConfiguration?.Rule?.DefaultRetention ?? {};
      if (Mode === undefined) return undefined;
      return { mode: Mode === 'COMPLIANCE' ? 'compliance' : 'governance', days: Days + 365 * Years };
    }, undefined),
    asked<readonly BucketStatement[]>(async () => {
      const { Policy = '{}' } = await client.send(new GetBucketPolicyCommand({ Bucket }));
      return bucketPolicy.parse(JSON.parse(Policy)).Statement.map(statementOf);
    }, []),
    asked(async () => {
      const { PublicAccessBlockConfiguration: block } = await client.send(new GetPublicAccessBlockCommand({ Bucket }));
      const { BlockPublicAcls, BlockPublicPolicy, IgnorePublicAcls, RestrictPublicBuckets } = block ?? {};
      return [BlockPublicAcls, BlockPublicPolicy, IgnorePublicAcls, RestrictPublicBuckets].every((on) => on === true);
    }, false),
    asked<readonly string[]>(async () => {
      const { Rules = [] } = await client.send(new GetBucketLifecycleConfigurationCommand({ Bucket }));
      return Rules.filter(removes).map(({ ID = 'without an id' }) => ID);
    }, []),
  ]);
  return { keepsVersions, lock, policy, isPrivate, removingRules };
}

/** @param absent value to return when the bucket has no such configuration (S3 responds with 404) */
async function asked<Value>(read: () => Promise<Value>, absent?: Value): Promise<Fact<Value>> {
  try {
    return { kind: 'read', value: await read() };
  } catch (error) {
    if (!(error instanceof S3ServiceException)) throw error;
    if (error.$metadata.httpStatusCode === 404 && error.name !== 'NoSuchBucket')
      return { kind: 'read', value: absent as Value };
    // S3 responds with this status if the caller may read the policy, but belongs to another account than the bucket
    // (Amazon S3 API reference, "GetBucketPolicy").
    if (error.$metadata.httpStatusCode === 405) return { kind: 'elsewhere' };
    return { kind: 'refused', because: error.name };
  }
}

function statementOf(statement: z.infer<typeof bucketPolicy>['Statement'][number]): BucketStatement {
  const { Effect: effect, Principal, Action: actions = [], Resource: resources = [], Condition } = statement;
  const isForAll = Principal === '*' || Principal?.['AWS']?.includes('*') === true;
  const condition = Condition === undefined ? {} : { condition: JSON.stringify(Condition) };
  return { effect, isForAll, actions, resources, ...condition };
}

function removes({ Status, Expiration, NoncurrentVersionExpiration }: LifecycleRule): boolean {
  return Status === 'Enabled' && (Expiration !== undefined || NoncurrentVersionExpiration !== undefined);
}

/** Checks all manifests, and the objects of the time range. */
export async function objectsWithSeveralVersions(
  client: S3Client,
  Bucket: string,
  bounds: Bounds,
): Promise<readonly ReplacedObject[]> {
  const versions = new Map<string, ReplacedObject>();
  const seen = (object: string, each: Partial<ReplacedObject>): void => {
    const { versions: before = 0, isRemoved = false } = versions.get(object) ?? {};
    versions.set(object, { kind: 'object_versions', object, versions: before + 1, isRemoved, ...each });
  };
  const found: ReplacedObject[] = [];
  for (const Prefix of [LINES_PREFIX, MANIFESTS_PREFIX]) {
    let KeyMarker: string | undefined = Prefix === LINES_PREFIX ? beginOf(bounds) : undefined;
    let VersionIdMarker: string | undefined;
    for (let isMore = true; isMore; ) {
      const input = { Bucket, Prefix, KeyMarker, VersionIdMarker };
      const page = await client.send(new ListObjectVersionsCommand(input));
      for (const { Key = '' } of page.Versions ?? []) seen(Key, {});
      for (const { Key = '' } of page.DeleteMarkers ?? [])
        seen(Key, { versions: versions.get(Key)?.versions ?? 0, isRemoved: true });
      ({ NextKeyMarker: KeyMarker, NextVersionIdMarker: VersionIdMarker } = page);
      // Manifest keys contain no time, so list all manifests.
      const next = Prefix === LINES_PREFIX ? continueAfter(KeyMarker, bounds) : KeyMarker;
      if (next !== KeyMarker) VersionIdMarker = undefined;
      KeyMarker = next;
      isMore = page.IsTruncated === true && KeyMarker !== undefined;
      // The versions of a page's last key can continue on the next page.
      for (const [name, each] of versions) {
        if (isMore && name === KeyMarker) continue;
        versions.delete(name);
        if (each.versions !== 1 || each.isRemoved) found.push(each);
      }
    }
  }
  return found;
}
