/** The folder of files of real banks and authorities, which are not in the repository. Undefined: not here. */
export const { SAMPLES_DIR: samplesFolder } = process.env
