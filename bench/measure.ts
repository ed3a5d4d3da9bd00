import { GetFunctionConfigurationCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { accessTo, credentialVariables } from '../local/emulator-environment.ts';
import type { LocalAws } from '../local/local-aws.ts';
import { capacityTable, paidCapacity } from '../test/bench/bench-capacity.ts';
import { deployedSettings, eventRateTable } from '../test/bench/bench-event-rate.ts';
import { eventUnits } from '../test/bench/bench-event-units.ts';
import { reconcileTable } from '../test/bench/bench-reconcile.ts';
import { measureByHand, measureEngine, measureOthers } from './paths.ts';
import { report } from './report.ts';
import { measureSpeed, type Size } from './speed.ts';
import { measureWeight } from './weight.ts';

interface MeasureOptions {
  readonly size: Size;
  readonly progress: (text: string) => void;
}

/**
 * Runs all benchmarks on a running local AWS.
 * @returns the contents of docs/proof/benchmarks.md
 */
export async function measure(aws: LocalAws, { size, progress }: MeasureOptions): Promise<string> {
  const config = accessTo(aws);
  progress('calls and capacity of every path');
  const engine = await measureEngine(config, aws.tables);
  const byHand = await measureByHand(config, aws.tables);
  const others = await measureOthers(config, aws.tables);
  const speed = await measureSpeed(config, aws.tables, { size, progress });
  const weight = measureWeight({ environment: await environmentOf(aws), starts: size.starts, progress });
  const capacity = capacityTable(await paidCapacity(1), await paidCapacity(1_000), await eventUnits());
  return report({
    engine,
    capacity,
    reconciling: await reconcileTable(),
    events: await eventRateTable(deployedSettings()),
    byHand,
    others,
    ...speed,
    weight,
  });
}

/** Returns the environment of the deployed payments function, without this process's environment. */
async function environmentOf(aws: LocalAws): Promise<Readonly<Record<string, string>>> {
  const client = new LambdaClient(accessTo(aws));
  const { Environment } = await client.send(
    new GetFunctionConfigurationCommand({ FunctionName: aws.paymentsFunction }),
  );
  return {
    ...Environment?.Variables,
    AWS_REGION: aws.region,
    ...credentialVariables(aws.accessKeyId),
  };
}
