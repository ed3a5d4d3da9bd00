/** `payonce/once`: routes, functions and consumers of your own services that take effect once. */
import './node-version.ts';

export * from '../lambdas/services/once.ts';
