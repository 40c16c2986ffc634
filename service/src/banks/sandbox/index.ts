/** The sandbox bank: a connector that moves no money, and the bank that simulations and checkout pages drive. */
export { createSandboxBank, type SandboxBank } from './service.ts'
