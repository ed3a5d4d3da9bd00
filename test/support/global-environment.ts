import vm from 'node:vm';
import { TestEnvironment } from 'jest-environment-node';

const { createContext } = vm;

// As the stacks set it.
process.env['POWERTOOLS_METRICS_NAMESPACE'] = 'Payonce';

// Without the CDK's own rules for templates, whose engine each suite would load anew. `npm run synth` applies them. A plugin that a
// test adds is applied nevertheless.
process.env['CDK_VALIDATION'] = 'false';

/**
 * Jest's own environment for Node, whose global object is not behind a proxy. Through the proxy each mention of `Error`, `Math` or
 * `JSON` is a call into C++ and back, which took four tenths of the time of the tests that compute.
 */
export default class DirectGlobals extends TestEnvironment {
  constructor(...given: ConstructorParameters<typeof TestEnvironment>) {
    vm.createContext = () => createContext(vm.constants.DONT_CONTEXTIFY);
    try {
      super(...given);
      // Many tests count on errors, and each error collects its frames.
      this.global.Error.stackTraceLimit = 20;
    } finally {
      vm.createContext = createContext;
    }
  }
}
