class GradientEdge: pass
