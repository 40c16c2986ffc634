/** The transport of a bank, by its configuration. */
import type { Transport } from '../deps.ts'
import { createFolderTransport } from './folder.ts'
import type { TransportConfig } from './settings.ts'
import { createSftpTransport } from './sftp.ts'

export const createTransport = (config: TransportConfig): Transport =>
  config.kind === 'folder' ? createFolderTransport(config) : createSftpTransport(config)
