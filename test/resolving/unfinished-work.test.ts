import { World } from '../world/world.ts';
import { describeUnfinishedWork } from './unfinished-work-suite.ts';

describeUnfinishedWork('in-memory DynamoDB', async () => {
  const { store } = new World();
  return { payments: store, effects: store, work: store };
});
