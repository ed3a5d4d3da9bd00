import { RemovalPolicy, Stack } from 'aws-cdk-lib';
import { CfnCluster } from 'aws-cdk-lib/aws-dsql';
import { Construct } from 'constructs';
import { defined } from '../../lambdas/kernel/defined.ts';
import type { AuthoritySettings } from '../settings/authority.ts';
import { dataKeyOf } from '../settings.ts';

export interface DsqlClusterProps {
  /** Whether to keep the cluster when its stack is deleted, and to enable deletion protection. */
  readonly retain: boolean;
  /** The witness region and the other cluster, if clusters in two regions are linked. */
  readonly settings: Pick<AuthoritySettings, 'dsqlWitnessRegion' | 'dsqlLinkedClusterArn'>;
}

/**
 * A cluster of Aurora DSQL, without instances, a network or a secret. It is encrypted with the key of the
 * setting `dataKeyArn`, or with a key that AWS owns.
 */
export class DsqlCluster extends Construct {
  /** The host to which the functions connect with their IAM roles. */
  readonly endpoint: string;
  readonly arn: string;

  constructor(scope: Construct, id: string, { retain, settings }: DsqlClusterProps) {
    super(scope, id);
    const { dsqlWitnessRegion: witnessRegion, dsqlLinkedClusterArn: linked } = settings;
    const cluster = new CfnCluster(this, 'Default', {
      deletionProtectionEnabled: retain,
      tags: [{ key: 'Name', value: Stack.of(this).stackName }],
      ...defined({ kmsEncryptionKey: dataKeyOf(this.node) }),
      ...(witnessRegion === undefined
        ? {}
        : { multiRegionProperties: { witnessRegion, ...(linked === undefined ? {} : { clusters: [linked] }) } }),
    });
    // A protected cluster cannot be deleted, so it remains after the rollback of a failed first deployment.
    cluster.applyRemovalPolicy(retain ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY);
    this.endpoint = cluster.attrEndpoint;
    this.arn = cluster.attrResourceArn;
  }
}
