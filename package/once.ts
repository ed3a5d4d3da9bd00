/** `payonce/once`: routes, functions and consumers that take effect only once, for your own services. */
import './node-version.ts';

export * from '../lambdas/services/once.ts';
