import { CfnFunction, type Function, RecursiveLoop } from 'aws-cdk-lib/aws-lambda';

/**
 * Disables recursive-loop detection for a function that continues its work through messages to its own queue, or by
 * invoking itself. By default, Lambda stops such a chain after about sixteen calls (AWS Lambda developer guide, "Use
 * Lambda recursive loop detection to prevent infinite loops"). Without this setting, a job run with two thousand items,
 * or a job run that waits for five minutes, would be dead-lettered.
 *
 * Call this only for functions whose chains of calls are bounded.
 */
export function allowRecursiveLoop({ node }: Function): void {
  const { defaultChild: resource } = node;
  if (!(resource instanceof CfnFunction)) throw new Error(`${node.path} is not a function of this app`);
  resource.recursiveLoop = RecursiveLoop.ALLOW;
}
