/**
 * The simulated identity provider of the sandbox: an HTTP server like that of a real provider, with a page on which a
 * developer chooses the outcome, and its connector. The server represents another company, so that it stores its
 * sessions in a file and not in the database of the service.
 */
export { createSimulatedIdentityProvider, simulatedIdentityId } from './connector.ts'
export { createIdentitySimulator, type SimulatorFaults } from './server.ts'
