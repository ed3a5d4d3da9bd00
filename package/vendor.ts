/** `payonce/vendor`: calls of your own services to other systems. */
import './node-version.ts';

export * from '../lambdas/services/vendor.ts';
