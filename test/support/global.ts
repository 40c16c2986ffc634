/** `node --test --test-global-setup=test/support/global.ts`: one database server for all test processes. */
import { startTestServer, TEMPLATE_VARIABLE, type TestServer } from './postgres.ts'

let server: TestServer | undefined

export const globalSetup = async (): Promise<void> => {
  server = await startTestServer()
  process.env[TEMPLATE_VARIABLE] = server.templateUrl
}

export const globalTeardown = async (): Promise<void> => {
  await server?.stop()
}
