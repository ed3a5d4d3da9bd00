import { MemoryViews } from '../../lambdas/adapters/memory/memory-views.ts';
import { describeViewStore } from '../contract-suites/view-store-suite.ts';

describeViewStore('memory', async () => new MemoryViews());
