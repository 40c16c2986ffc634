/** The sandbox bank: a connector that does not move money. Simulations and checkout pages control its bank. */
export { createSandboxBank, type SandboxBank } from './service.ts'
