import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { finishImport, type Imported, type ImportTools } from '../../lambdas/authority/import-authority.ts';
import { AuthorityLog } from '../../lambdas/authority/store/authority-log.ts';
import { fingerprintOf } from '../../lambdas/kernel/fingerprint.ts';
import { type PaymentId, storedOperationId, type TenantId, tenantId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import type { ApprovalRules } from '../../lambdas/operators/domain/approval.ts';
import type { ApprovingStore } from '../../lambdas/operators/use/approving-store.ts';
import { correctLedger } from '../../lambdas/operators/use/correct-ledger.ts';
import type { CreatePayment } from '../../lambdas/payments/use/create-payment.ts';
import type { Database } from '../../lambdas/postgres/database.ts';
import { databaseOfNewTenant } from '../../lambdas/tenants/store/tenant-administration.ts';
import { paymentIdFor, paymentRequest } from '../payments/payment-fixtures.ts';
import { BY_OPERATOR, OPERATOR } from '../support/causes.ts';
import { TABLES } from '../world/tables.ts';
import { type FourDatabases, NAMES, ShardedDeployment } from './four-databases.ts';

interface Changes {
  readonly client?: DynamoDBDocumentClient;
  /** @default all */
  readonly names?: readonly string[];
  readonly database?: (name: string, given: Database) => Database;
}

/** The deployment has one tenant for each database. */
export class ImportedTenants {
  readonly deployment: ShardedDeployment;
  readonly tenants = new Map<string, TenantId>();
  readonly #databases: FourDatabases;

  private constructor(databases: FourDatabases) {
    this.#databases = databases;
    this.deployment = new ShardedDeployment(databases);
  }

  static async begin(databases: FourDatabases, names: readonly string[] = NAMES): Promise<ImportedTenants> {
    await databases.empty();
    const own = new ImportedTenants(databases);
    await own.deployment.world.store.activity.recordSettings({ authority: 'dynamodb' });
    for (let number = 0; own.tenants.size < names.length; number += 1) {
      const id = tenantId(`ten_imported_${number}`);
      const name = databaseOfNewTenant(id, names) ?? '';
      if (own.tenants.has(name)) continue;
      own.tenants.set(name, await own.deployment.createTenant(id, []));
    }
    return own;
  }

  requestOf(tenant: TenantId, key: string, changes: Partial<CreatePayment> = {}): CreatePayment {
    return paymentRequest(key, { tenantId: tenant, paymentId: paymentIdFor(key, tenant), ...changes });
  }

  /** The operator uses the same idempotency key for each payment. */
  correct(payment: PaymentId, effects: ApprovingStore, approvals?: ApprovalRules) {
    const reversal = { kind: 'reverse', sequence: 2 } as const;
    const { clock, entropy } = this.deployment.world;
    return correctLedger(
      { effects, approvals, runner: idempotentRunner, clock, entropy, digest: systemDigest },
      {
        cause: BY_OPERATOR,
        operationId: storedOperationId(`cor_${'a'.repeat(32)}`),
        fingerprint: fingerprintOf(systemDigest, { body: { payment, ...reversal }, query: {} }),
        payment,
        reason: 'Booked twice',
        by: OPERATOR,
        asked: { kind: 'correction', change: reversal },
      },
    );
  }

  tools({
    client = this.deployment.world.store.database.client,
    names = NAMES,
    database = (_, given) => given,
  }: Changes = {}): ImportTools {
    const { clock, entropy } = this.deployment.world;
    const opened = { client, tables: TABLES, pacing: { clock, entropy } };
    const databases = names.map((name) => ({ name, database: database(name, this.#databases.database(name)) }));
    return { ...opened, databases, log: new AuthorityLog(opened, 'ada') };
  }

  finish(changes: Changes = {}): Promise<Imported> {
    return finishImport(this.tools(changes), { segments: 2, progress: () => undefined });
  }

  async misplaced(): Promise<readonly string[]> {
    const found: string[] = [];
    for (const [home, tenant] of this.tenants) {
      const ids = await this.#databases.idsIn(home, tenant);
      for (const name of NAMES.filter((each) => each !== home))
        for (const row of await this.#databases.rowsWith(name, ids)) found.push(`${name}: ${row.slice(0, 80)}`);
    }
    return found;
  }
}
