/** The cluster of destinations that have no host: backends of routes that are of an unknown kind. No cluster has the name. */
export const unknownCluster = "UnknownService";
