/**
 * The simulated identity provider of the sandbox: a server that speaks HTTP as a real provider does, with a page on which a developer chooses
 * the outcome, and the connector that calls it. The server keeps its sessions in a file, not in the database of the service: it is another company.
 */
export { createSimulatedIdentityProvider, type SimulatedIdentityDeps, simulatedIdentityId } from './connector.ts'
export { createIdentitySimulator, type IdentitySimulator, type SimulatorFaults } from './server.ts'
