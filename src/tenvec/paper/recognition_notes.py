"""How the recognition experiment is done, and how its results are to be read."""

PROTOCOL = """\
Extended Yale: 20, 30 or 40 random images of each of the 38 people are for training, the rest for \
testing. AR: 30, 50 or 70 random people, the seven images of the first session without occlusion \
against those of the second. FERET: 30, 50 or 100 random people, the first five images against \
the last two. Grey values are used as they are, 0 to 255. Run n draws its split and its start \
with seed n. Every method learns from the training images only; 1-NN compares test with training \
features.

The recipe that reaches the paper's level is what the paper says where it says something (plain \
EM, R = K, a = b = 1 on raw values, no mean, stop at 1e-4 or 200 passes) and a start drawn from \
the uniform distribution on [0, 1], which it leaves open: `tenvec.paper.SETTINGS`. px-em runs \
uncentred for at most 30 passes with 5 sweeps each; longer runs raise the bound but move the \
rates within their deviation.

Deviations, and what the paper leaves open: which people and which images were drawn; that the \
first five images of FERET are for training is inferred from the level of PCA; its draws from AR \
were balanced between men and women, whom the files do not tell apart, and its crop was 50 × 40, \
the file's is 60 × 43. The number of PPCAs in the mixture is not given: two here, two starts, at \
most 100 passes, with the reduced feature numbers that the paper prints (40 where they are \
missing in a column of such numbers); its features are the posterior means of each component \
times its responsibility, and the responsibilities. CP is plain alternating least squares from a \
random start with the stop that the paper states for itself (1e-4, at most 200 sweeps), its \
features least squares on the learned basis; those of Bayesian CP are posterior means after at \
most 50 iterations from a random start (it removes components, so that fewer than K may be left; \
the paper starts it from an SVD). GLRAM has the (r, c) that the paper prints. Tucker, which the \
paper does not list here because Tucker-2 equals GLRAM, has K features and the same (r, c). PCA \
and SVD have no more features than there are training images (PCA one fewer).

"PCA" is the paper's row: components centred and not whitened. `whiten` scales feature k by its \
explained variance to the power (1 − whiten)/2, so that 1 means posterior means (whitened scores \
for PCA and SVD) and 0 distances as between reconstructions. The recommended setting, one for all \
data sets, is chosen among R = K and R = 2K, six values of `whiten` and two distances by the \
leave-one-out rate of the training samples of the first split at K = 100: no test image takes \
part."""

NOTES: list[str] = []
