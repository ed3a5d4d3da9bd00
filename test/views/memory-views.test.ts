import { MemoryViews } from './memory-views.ts';
import { describeViewStore } from './view-store-suite.ts';

describeViewStore('memory', async () => new MemoryViews());
