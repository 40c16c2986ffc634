/** The folder of files of others, which are no part of the repository. Undefined: it is not here, and tests of them say that they are skipped. */
export const samplesFolder = process.env['SAMPLES_DIR']
