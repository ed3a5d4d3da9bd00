import { App } from 'aws-cdk-lib';
import { AlarmChat, readDestinations } from './alarm-chat.ts';

const app = new App();
const destinations = readDestinations((name) => {
  const given: unknown = app.node.tryGetContext(name);
  return given === undefined || typeof given === 'string' ? given : JSON.stringify(given);
});
new AlarmChat(app, 'PayonceAlarmChat', destinations);
