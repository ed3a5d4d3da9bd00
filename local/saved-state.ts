import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import * as z from 'zod';
import type { Authority } from '../lambdas/authority/contract.ts';
import { StackName } from '../lambdas/kernel/contract/api.ts';
import { type CdkApp, keyOfAssembly, type StackOutputs } from './cdk.ts';
import { deployKey } from './deploy-key.ts';
import { makeDirectory } from './directories.ts';
import { type Emulator, STATE_DIRECTORY } from './emulator.ts';
import { accessTo, type EmulatorAccess } from './emulator-environment.ts';
import type { Snapshots } from './snapshots.ts';

/** The next run that does not persist its state deletes this subdirectory first. */
const TEMPORARY = 'temporary-state';
/** This file is stored next to the emulator's files and written last. */
const STAMP = 'payonce-deploy.json';

const stamp = z.object({
  key: z.string(),
  stacks: z.record(z.string(), z.string()),
});

interface SavedStateOptions {
  readonly directory: string;
  readonly persist: boolean;
  readonly authority?: Authority | undefined;
  readonly app?: CdkApp | undefined;
  readonly snapshots: Snapshots;
  readonly redeploy: boolean;
}

export class SavedState {
  readonly directory: string;
  readonly origin: 'earlier-run' | 'snapshot' | 'none';
  /** Identifies the deployment that the run requires; undefined when the key cannot be computed. */
  readonly #key: string | undefined;
  readonly #authority: Authority;
  readonly #snapshots: Snapshots;
  readonly #redeploy: boolean;

  /** Call it only while no run is active in the directory. */
  constructor({ directory, persist, authority = 'dynamodb', app, snapshots, redeploy }: SavedStateOptions) {
    this.directory = join(directory, persist ? STATE_DIRECTORY : TEMPORARY);
    if (!persist) rmSync(this.directory, { recursive: true, force: true });
    this.#authority = authority;
    this.#key = keyOf(app, authority);
    this.#snapshots = snapshots;
    this.#redeploy = redeploy;
    makeDirectory(directory);
    if (existsSync(this.directory)) this.origin = 'earlier-run';
    else if (this.#key !== undefined && !redeploy && snapshots.restore(this.#key, this.directory))
      this.origin = 'snapshot';
    else this.origin = 'none';
  }

  /** Undefined if the stacks belong to another deployment or have changed since. */
  async currentOutputs(access: EmulatorAccess): Promise<StackOutputs | undefined> {
    const deployed = this.#stamp();
    if (this.#redeploy || this.#key === undefined || deployed?.key !== this.#key) return undefined;
    const stacks = await describeStacks(access);
    const isUnchanged = stacks.every(({ name, version }) => version !== undefined && deployed.stacks[name] === version);
    return isUnchanged ? Object.fromEntries(stacks.map(({ name, outputs }) => [name, outputs])) : undefined;
  }

  /** Call it before a deployment: if the deployment fails, the state is not mistaken for a deployed one. */
  beginDeploy(): void {
    rmSync(join(this.directory, STAMP), { force: true });
  }

  /**
   * Also saves a snapshot if the state contains only the deployment.
   *
   * @throws Error when the state cannot be saved; the run can continue without the saved state
   */
  async endDeploy({ access, save }: Pick<Emulator, 'access' | 'save'>): Promise<void> {
    const key = this.#key;
    // The sources can have changed during the deployment.
    if (key === undefined || keyFor(this.#authority) !== key) return;
    await save();
    const stacks = Object.fromEntries((await describeStacks(access)).map(({ name, version = '' }) => [name, version]));
    const path = join(this.directory, STAMP);
    writeFileSync(`${path}.partial`, JSON.stringify({ key, stacks } satisfies z.infer<typeof stamp>));
    renameSync(`${path}.partial`, path);
    if (this.origin !== 'none') return;
    if (this.#redeploy) this.#snapshots.drop(key);
    this.#snapshots.keep(key, this.directory);
  }

  discardSnapshot(): void {
    if (this.origin !== 'snapshot' || this.#key === undefined) return;
    this.#snapshots.drop(this.#key);
    rmSync(this.directory, { recursive: true, force: true });
  }

  #stamp(): z.infer<typeof stamp> | undefined {
    try {
      return stamp.safeParse(JSON.parse(readFileSync(join(this.directory, STAMP), 'utf8'))).data;
    } catch {
      return undefined;
    }
  }
}

/**
 * Undefined if the sources have changed since the assembly was synthesized. The emulator that writes the state is
 * always started from the current sources, so the state would mix two versions.
 */
function keyOf(app: CdkApp | undefined, authority: Authority): string | undefined {
  return app === undefined || keyOfAssembly(app) === deployKey() ? keyFor(authority) : undefined;
}

function keyFor(authority: Authority): string | undefined {
  const key = deployKey();
  return key === undefined || authority === 'dynamodb' ? key : `${key}-${authority}`;
}

interface DeployedStack {
  readonly name: string;
  /** Changes with each deployment that changes the stack; undefined while the last deployment is incomplete. */
  readonly version: string | undefined;
  readonly outputs: Readonly<Record<string, string>>;
}

async function describeStacks(access: EmulatorAccess): Promise<readonly DeployedStack[]> {
  const client = new CloudFormationClient(accessTo(access));
  return Promise.all(
    Object.values(StackName).map(async (name) => {
      const found = await client.send(new DescribeStacksCommand({ StackName: name })).catch(() => undefined);
      const { StackId, StackStatus, CreationTime, LastUpdatedTime, Outputs = [] } = found?.Stacks?.[0] ?? {};
      const isComplete = StackStatus === 'CREATE_COMPLETE' || StackStatus === 'UPDATE_COMPLETE';
      return {
        name,
        version: isComplete ? `${StackId} ${(LastUpdatedTime ?? CreationTime)?.toISOString()}` : undefined,
        outputs: Object.fromEntries(Outputs.map(({ OutputKey = '', OutputValue = '' }) => [OutputKey, OutputValue])),
      };
    }),
  );
}
