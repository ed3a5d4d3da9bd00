import { PROBLEMS, type ProblemCode } from '../../lambdas/http/problems.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { gatewayProblemBodies } from '../../lib/constructs/gateway-problems.ts';
import { captureJobs } from './capture-jobs.ts';
import {
  captureAnnotations,
  captureApprovals,
  captureAttention,
  captureAudit,
  captureCorrections,
  captureDecisions,
  captureDismissal,
  captureExports,
  captureInspections,
  captureKeys,
  captureLedger,
  captureLimits,
  captureMismatches,
  captureOperatorChanges,
  captureOperatorLists,
} from './capture-ledger.ts';
import { captureOrders } from './capture-orders.ts';
import { captureChanges, captureDisputes, captureLists, capturePayments, captureRefunds } from './capture-payments.ts';
import { captureCallbacks, captureWebhooks } from './capture-webhooks.ts';
import { CapturedExamples } from './captured-examples.ts';
import { GATEWAY_CODES, PROVOKED } from './provoked-problems.ts';

const CAPTURES = [
  capturePayments,
  captureLists,
  captureChanges,
  captureRefunds,
  captureDisputes,
  captureOrders,
  captureExports,
  captureLedger,
  captureCorrections,
  captureAnnotations,
  captureDecisions,
  captureApprovals,
  captureOperatorChanges,
  captureKeys,
  captureLimits,
  captureOperatorLists,
  captureAttention,
  captureDismissal,
  captureMismatches,
  captureInspections,
  captureAudit,
  captureJobs,
  captureWebhooks,
  captureCallbacks,
];

const QUEUE_ENTRY = 'que_aG9sZHMgMSAxNzcyMzY2NDAwMDAwI3BheV9iNTZjM3k1c2M0cmpmZzV5dGxrcDczdDJzeDduNHRtcg';

/** @param some chooses which responses are captured */
export async function captureExamples(
  some: <Case>(all: readonly Case[]) => readonly Case[] = (all) => all,
): Promise<string> {
  const examples = new CapturedExamples();
  for (const capture of some(CAPTURES)) await capture(examples);
  const problems: Record<string, unknown> = {};
  for (const code of some(Object.keys(PROBLEMS))) problems[code] = await problemOf(code as ProblemCode);
  const text = JSON.stringify({ operations: examples.operations, problems }, undefined, 2);
  // Ids contain the number of a simulated process, which also depends on other tests in the same module registry.
  // The id of a queue entry contains its position, which differs between DynamoDB and PostgreSQL. Replacing both makes
  // the text reproducible.
  return `${text.replaceAll(/\bprocess-\d+-/g, 'process-1-').replaceAll(/"que_[\w-]+"/g, `"${QUEUE_ENTRY}"`)}\n`;
}

async function problemOf(code: ProblemCode): Promise<Readonly<Record<string, unknown>>> {
  const gateways = GATEWAY_CODES.find((each) => each === code);
  if (gateways !== undefined) {
    const body = gatewayProblemBodies('').find((each) => each.code === code);
    invariant(body !== undefined, `the gateway problem ${code} has no body`);
    return { ...body, request_id: 'req-1' };
  }
  const { body } = await PROVOKED[code as keyof typeof PROVOKED]();
  invariant(body['code'] === code, `the code is ${String(body['code'])} instead of ${code}`);
  return body;
}
