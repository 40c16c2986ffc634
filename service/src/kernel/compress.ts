/** Compression (zstd) outside the main thread, at level 1 for speed. */
import { promisify } from 'node:util'
import { constants, zstdCompress, zstdDecompress } from 'node:zlib'

const options = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }
const deflate = promisify(zstdCompress)
const inflate = promisify(zstdDecompress)

export const compress = (bytes: Uint8Array): Promise<Uint8Array> => deflate(bytes, options)
export const decompress = (bytes: Uint8Array): Promise<Uint8Array> => inflate(bytes)
