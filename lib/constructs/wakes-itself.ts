import { CfnFunction, type Function, RecursiveLoop } from 'aws-cdk-lib/aws-lambda';

/**
 * Lets a function go on by messages to its own queue. Lambda takes such a chain for a mistake, and stops it after about sixteen
 * messages (AWS Lambda developer guide, "Use Lambda recursive loop detection to prevent infinite loops"): a run of two thousand
 * items would end among the dead letters, and so would one that waits for five minutes.
 *
 * Only for a function whose chains end by themselves.
 */
export function wakesItself({ node }: Function): void {
  const { defaultChild: resource } = node;
  if (!(resource instanceof CfnFunction)) throw new Error(`${node.path} is no function of this app`);
  resource.recursiveLoop = RecursiveLoop.ALLOW;
}
